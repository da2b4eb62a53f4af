"""Every method by name, with the settings of the Focus paper and the sound ones."""

from collections.abc import Callable
from dataclasses import dataclass, field

from helpers.explain import cam, gradients, lrp, perturbation


@dataclass(frozen=True)
class Method:
    """An explanation method: its `name` in figures, what computes it, and its settings.

    `run` takes (model, images, targets, **settings), images in [0, 1], and returns float (B, H, W);
    LRP with it the share of relevance that is lost, (B,). `layer` is where relevance is read by
    default ("last map" or "input"; None for a method that always reads at the input). The `sound`
    settings are the default, the `paper` ones those of the authors' public code.
    """

    name: str
    run: Callable
    layer: str | None = None
    sound: dict = field(default_factory=dict)
    paper: dict = field(default_factory=dict)


METHODS: dict[str, Method] = {
    "gradcam": Method("GradCAM", cam.gradcam, "last map"),
    "lrp": Method("LRP", lrp.lrp, "input"),
    "smoothgrad": Method(
        "SmoothGrad",
        gradients.smoothgrad,
        "input",
        sound={"samples": 25, "sigma": 0.15, "reduce": "sum"},
        paper={"samples": 10, "sigma": 0.2, "reduce": "max absolute"},
    ),
    "lime": Method(
        "LIME",
        perturbation.lime,
        sound={"segments": 8, "samples": 256, "best": None},
        paper={"segments": 7, "samples": 1000, "best": 5},
    ),
    "gradcam++": Method("GradCAM++", cam.gradcam_plus_plus, "last map"),
    "integrated-gradients": Method(
        "IG",
        gradients.integrated_gradients,
        "input",
        sound={"steps": 32, "reduce": "sum"},
        paper={"steps": 50, "reduce": "sum"},
    ),
}
"""The six that the paper rates, in its order."""
