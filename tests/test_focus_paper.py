"""*Focus!* as `PRESET=paper` and `paper-tuned` ask for it, through the notebooks, on small archives
that a local server serves in the layout that the authors' public code writes.

The images are noise, and the networks' weights are random: no number here tells anything of the
paper. LIME's 1,000 samples are left out."""

import json

import pandas as pd
import pytest
import yaml
from executed import copied, executed, printed, readdressed
from safetensors.torch import save_file
from test_sources_archives import Server, mosaics_of_focus, zipped

from helpers import claims, data, models, store
from helpers.data import published
from helpers.data.images import Images

ROOT, SIDE = store.root(), 32
URL = "https://storage.hpai.bsc.es/focus-metric/"
METHODS = ["gradcam", "lrp", "smoothgrad", "gradcam++", "integrated-gradients"]
ARCHITECTURES = ["squeezenet1_0", "resnet18"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project that knows the server, with random weights for 1,000 classes."""
    folder, served = copied(tmp_path_factory.mktemp("focus")), Server()
    sizes = {"ilsvrc2012": (4, SIDE, 6, ["39", "84", "207"])}
    sizes |= dict.fromkeys(("catsdogs", "mit67", "mame"), (16, SIDE, 20))
    for name, given in sizes.items():
        served.files[f"{name}_mosaic.zip"] = zipped(
            mosaics_of_focus(*given, name=name)[0]
        )
    readdressed(folder / "helpers/data/published.py", URL, served)
    for name in ARCHITECTURES:
        weights = models.build(name, 1000, seed=1).network.state_dict()
        save_file(
            {key: one.contiguous() for key, one in weights.items()},
            folder / f"{name}.st",
        )
    yield folder, served
    served.http.shutdown()
    served.http.server_close()


def ran(project, preset: str, lesson: str, **small) -> tuple:
    """Run a lesson with the block of a preset, made small; its tables' folder, and what it says."""
    folder, _ = project
    given = yaml.safe_load((ROOT / f"sweeps/{preset}.yml").read_text())[lesson]
    given["images"] = given["images"] | {"size": SIDE}
    names = small.pop("architectures", ARCHITECTURES)
    several = given["model"] if isinstance(given["model"], list) else [given["model"]]
    several = [
        one | {"architecture": name, "weights": str(folder / f"{name}.st")}
        | ({"epochs": 1} if "epochs" in one else {})
        for one, name in zip(several, names[-len(several) :], strict=False)
    ]  # fmt: skip
    given["model"] = several if lesson.startswith("06") else several[0]
    notebook = folder / "notebooks" / f"{lesson}.ipynb"
    told = printed(
        executed(
            notebook, given | small | {"output": preset}, folder / "outputs", folder
        )
    )
    return folder / "outputs" / preset / "tables" / lesson, told


def test_imagenet_as_it_is_with_the_authors_mosaics_and_settings(project):
    small = {"mosaics": 1, "methods": METHODS}
    tables, _ = ran(project, "paper", "06_focus_rating", **small)
    found = pd.read_csv(tables / "focus.csv")
    assert set(found["architecture"]) == set(ARCHITECTURES) and set(found["set"]) == {
        "ilsvrc2012"
    }
    assert set(found["mosaics"]) == {3} and found["method"].nunique() == len(METHODS)
    assert (pd.read_csv(tables / "accuracies.csv")["runs"] == 1).all()
    record = json.loads(
        (tables.parents[1] / "findings/06_focus_rating.json").read_text()
    )
    judged = pd.DataFrame(record["findings"])
    judged = judged[~judged["id"].str.startswith("suite/")].set_index("id")["verdict"]
    assert judged["focus/near-random/ig"] == claims.INCONCLUSIVE, (
        "three mosaics decide nothing"
    )
    assert judged["focus/varies/lime"] == claims.NOT_TESTABLE, (
        "LIME is not asked for here"
    )
    assert not judged.isin([claims.NOT_REPLICATED]).any(), (
        "a wrong one would contradict: their mosaics"
    )


def test_two_classes_of_imagenet_by_their_numbers(project):
    small = {"per_pair": 3}
    tables, told = ran(project, "paper", "07_focus_bias_pairs", **small)
    ranked = pd.read_csv(tables / "pairs.csv", dtype={"target": str, "outer": str})
    assert set(zip(ranked["target"], ranked["outer"], strict=True)) == {
        ("84", "39"),
        ("39", "84"),
    }
    assert (ranked["mosaics"] == 3).all() and "12 held-out images of 2 classes" in told


def test_the_three_other_sets_with_a_network_fine_tuned_on_the_tiles_other_images(
    project,
):
    """All three in one run; what is rated is the authors', what is trained is not."""
    small = {"mosaics": 1, "methods": ["gradcam", "lrp"], "trainings": 1}
    small["architectures"] = ARCHITECTURES[1:]
    tables, _ = ran(project, "paper-tuned", "06_focus_rating", **small)
    found = pd.read_csv(tables / "focus.csv")
    assert set(found["set"]) == {"catsdogs", "mit67", "mame"} and set(
        found["mosaics"]
    ) == {2}
    shares = pd.read_csv(tables / "accuracies.csv")
    assert len(shares) == 3
    assert (shares["images"] < 40).all(), (
        "the test images only: the others were trained on"
    )


def test_a_class_that_no_mosaic_asks_for_is_named(project, tmp_path, monkeypatch):
    monkeypatch.setattr(published, "URL", project[1].url)
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    with pytest.raises(
        ValueError, match=r"ilsvrc2012: no mosaic .* the index calls peacock"
    ):
        data.load(
            Images("focus", archives={"ilsvrc2012": ["peacock", "39"]}, size=SIDE)
        )
