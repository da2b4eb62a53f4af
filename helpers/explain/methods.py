"""Every method by name, with the settings of the Focus paper and the sound ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from helpers.explain import cam, gradients, lrp, perturbation


@dataclass(frozen=True)
class Method:
    """An explanation method.

    Attributes
    ----------
    name : str
        As figures show it.
    run : callable
        (model, images, targets, **settings) -> float tensor (B, H, W), for images in [0, 1].
    layer : {"last map", "input", None}
        Where relevance is read by default: the last convolutional feature map, or the input. None:
        only ever the input.
    sound : dict
        Settings that keep what the method is about; used by default.
    paper : dict
        Settings of *Focus! Rating XAI Methods and Finding Biases*, by the authors' public code;
        where the paper does not rate the method, its sound settings are used.
    """

    name: str
    run: Callable
    layer: str | None = None
    sound: dict = field(default_factory=dict)
    paper: dict = field(default_factory=dict)


METHODS: dict[str, Method] = {
    "gradcam": Method("GradCAM", cam.gradcam, "last map"),
    "lrp": Method("LRP", lrp.lrp, "input", {"composite": "alpha1-beta0"}),
    "lrp-epsilon-plus": Method("LRP ε+", lrp.lrp, "input", {"composite": "epsilon-plus"}),
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
        paper={"segments": "quickshift", "samples": 1000, "best": 5},
    ),
    "gradcam++": Method("GradCAM++", cam.gradcam_plus_plus, "last map"),
    "integrated-gradients": Method(
        "IG",
        gradients.integrated_gradients,
        "input",
        sound={"steps": 32, "reduce": "sum"},
        paper={"steps": 50, "reduce": "sum"},
    ),
    "gradient": Method("Gradient", gradients.gradient, "input", {"reduce": "sum"}),
    "input-x-gradient": Method(
        "Input × Gradient", gradients.input_x_gradient, "input", {"reduce": "sum"}
    ),
    "guided-gradcam": Method("Guided GradCAM", cam.guided_gradcam, "last map"),
    "occlusion": Method("Occlusion", perturbation.occlusion, sound={"segments": 8}),
}

PAPER_METHODS = ("gradcam", "lrp", "smoothgrad", "lime", "gradcam++", "integrated-gradients")
"""The six that the paper rates, in its order."""
