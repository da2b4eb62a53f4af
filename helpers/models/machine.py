"""Whether this machine gives the suite's own numbers, found out by computing a few of them."""

import json
import sys
from functools import cache
from importlib.metadata import version

import numpy as np
import torch

import helpers
from helpers import models
from helpers.models.inference import default_device
from helpers.models.reduced import REDUCED
from helpers.run import artifacts, project

EXPECTED = project.root() / "data" / "own_numbers.json"  # what the probe gives, and the versions
LIBRARIES = ("torch", "torchvision", "numpy", "scipy")


@cache
def own_numbers() -> bool:
    """Whether this process computes the suite's own numbers, as a probe of some seconds tells."""
    return probe() == json.loads(EXPECTED.read_text())["probe"]


def why_not() -> str:
    """Why the numbers of this process are not the suite's own, a sentence; "" when they are."""
    if own_numbers():
        return ""
    theirs = json.loads(EXPECTED.read_text())["versions"]
    both = [(name, version(name), theirs[name]) for name in LIBRARIES]
    others = ", ".join(f"{name} {mine} for {its}" for name, mine, its in both if mine != its)
    if helpers.unpinned:
        reason = helpers.unpinned
    elif default_device().type != "cpu":
        reason = f"torch computes on {default_device().type}, the suite's numbers are of processors"
    elif others:
        reason = f"other library versions are installed ({others})"
    else:
        reason = "a probe gave other last digits here, for a reason that is not known"
    return f"Numbers of this machine are not the suite's own: {reason}."


def probe() -> str:
    """Digest of a second of what the suite computes: trainings, logits, sums, linear algebra."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (47, 3, 96, 96), generator=generator, dtype=torch.uint8)
    labels = torch.arange(47) % 4
    trained = {}
    for architecture in REDUCED:
        model = models.build(architecture, 4)
        models.train(model, images, labels, images[:8], labels[:8], seed=0, epochs=1)
        trained[architecture] = [model.state_dict(), models.logits(model, images[:8])]
    values = np.random.default_rng(0).lognormal(size=(400, 50))
    picked = np.random.default_rng(1).integers(400, size=(20, 400))
    return artifacts.key(
        "probe",
        trained=trained,
        interval=np.quantile(values[picked].mean(axis=1), [0.025, 0.975], axis=0),
        eigenvalues=np.linalg.eigvalsh(values.T @ values),
        sums=[np.exp(-values).sum(axis=0), np.log(values).std(axis=0)],
    )


def main() -> None:
    """``python -m helpers.models.machine``: say whose numbers these are.

    With ``--write``, after a change of the networks or of the training, they become the suite's.
    """
    if sys.argv[1:] == ["--write"]:
        if helpers.unpinned or default_device().type != "cpu":
            raise SystemExit(f"Not written: {why_not()}")
        versions = {name: version(name) for name in LIBRARIES}
        record = {"probe": probe(), "versions": versions}
        artifacts.write_text(EXPECTED, json.dumps(record, indent=1) + "\n")
    print(why_not() or "This machine gives the suite's own numbers.")


if __name__ == "__main__":
    main()
