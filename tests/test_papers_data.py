"""`make run PRESET=paper` for *Visual Contexts*, rehearsed on archives that a local server serves.

The images are synthetic, so they say nothing about the paper. ImageNet's weights are not served.
Addresses are changed in a copy of the project."""

import json
import os
import subprocess
import sys

import nbformat
import pandas as pd
import pytest
import yaml
from archive_server import serving, write_authors_archives
from executed import copied, executed, printed, readdressed
from PIL import Image

from helpers import claims, store
from helpers.workflow import defaults
from synthetic import pictures

ROOT, SIDE = store.root(), 64
URL = "https://storage.hpai.bsc.es/object-datasets/"
LESSONS = [
    "01_datasets",
    "02_cross_evaluation",
    "03_contextualized_mosaics",
    "04_paste_check",
    "05_gradcam_comparison",
    "05b_dose_and_worlds",
]
IMAGES = {
    "source": "visual-contexts",
    "size": SIDE,
    "per_class": 30,
    "context_of": pictures.CONTEXT_OF,
}
GIVEN = {"images": IMAGES, "fits": ["scratch"], "trainings": 3}
GIVEN |= {"model": {"architecture": "alexnet-quarter", "epochs": 8}}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy the project, change the archives' address, and start the server."""
    folder = copied(tmp_path_factory.mktemp("paper"))
    served = tmp_path_factory.mktemp("served")
    write_authors_archives(served, per_class=30, size=SIDE)
    (folder / ".venv").symlink_to(sys.prefix)
    made = pictures.contexts(per_context=12, size=SIDE, seed=2)
    for i, image in enumerate(made.images):
        name = made.table["context"][i]
        (folder / "contexts" / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / "contexts" / name / f"{i}.png")
    with serving(served) as server:
        readdressed(folder / "helpers/data/archives.py", URL, server)
        yield folder, server


def make_run(folder, notebooks, parameters):
    """`make run PRESET=paper` with a reader's own configuration on top: exit status, and output."""
    config = {"notebooks": notebooks, "parameters": parameters}
    (folder / "small.yml").write_text(yaml.safe_dump(config))
    other = {"SUITE_OUTPUTS", "MAKEFLAGS", "MAKELEVEL", "PYTHONPATH"}
    done = subprocess.run(
        [
            "make",
            "-o",
            ".venv/ready",
            "run",
            "PRESET=paper",
            "CONFIG=small.yml",
            "CORES=1",
        ],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={name: value for name, value in os.environ.items() if name not in other},
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def cut_off(project):
    """What a run of two lessons says: the download of the first that asks is cut off."""
    folder, server = project
    server.cut.add("/context.zip")
    return make_run(folder, LESSONS[:2], GIVEN)


@pytest.fixture(scope="module")
def run(project, cut_off):
    """The folder of a run of the six lessons: one by `make`, and the others as it runs them."""
    folder, _ = project
    images = IMAGES | {"contexts": str(folder / "contexts")}
    given = GIVEN | {"images": images}
    for name in [name for name in LESSONS if f"{name}: done in" not in cut_off[1]]:
        lesson = folder / "notebooks" / f"{name}.ipynb"
        declared = defaults(lesson)
        own = {key: value for key, value in given.items() if key in declared}
        done = executed(lesson, own | {"output": "paper"}, folder / "outputs", folder)
        nbformat.write(done, folder / "outputs/paper/notebooks" / lesson.name)
    return folder / "outputs/paper"


@pytest.fixture(scope="module")
def judged(run):
    records = [
        json.loads((run / "findings" / f"{name}.json").read_text()) for name in LESSONS
    ]
    assert {record["settings"]["images"]["source"] for record in records} == {
        "visual-contexts"
    }
    tables = [pd.DataFrame(record["findings"]) for record in records]
    return pd.concat(
        tables, keys=[name[:3].strip("_") for name in LESSONS], names=["lesson", None]
    )


def printed_by(run, name):
    """Return what a lesson printed."""
    return printed(nbformat.read(run / "notebooks" / f"{name}.ipynb", as_version=4))


def test_a_download_that_is_cut_off_ends_in_a_sentence_and_the_other_lesson_runs(
    project, cut_off
):
    status, output = cut_off
    assert status and "context.zip could not be downloaded and unpacked" in output
    ends = sorted(
        output.count(f"{name}: {end}")
        for name in LESSONS[:2]
        for end in ("FAILED", "done")
    )
    assert sorted(ends) == [0, 0, 1, 1], output
    for name in LESSONS[:2]:
        page = (project[0] / f"outputs/paper/pages/{name}.html").read_text()
        assert ("could not be downloaded and unpacked" in page) == (
            f"{name}: FAILED" in output
        )


def test_each_lesson_runs_to_its_end(project, run, judged):
    assert project[1].requests.count("/context.zip") == 2, (
        "cut off, and then once for all"
    )
    for name in LESSONS:
        for kind in ("figures/{}/*.png", "tables/{}/*.csv"):
            assert list(run.glob(kind.format(name))), name
    assert set(judged.index.unique("lesson")) == {"01", "02", "03", "04", "05", "05b"}
    shares = pd.read_csv(run / "tables/02_cross_evaluation/accuracy.csv")
    own = shares[shares["model"].str.split("-").str[1] == shares["test_set"]]
    assert len(shares) == 9 and own["rate"].min() > 0.4, (
        "more than guessing: they learned"
    )


def test_only_this_route_contradicts_the_paper(judged):
    """Each verdict says what is not the authors'."""
    of_paper = judged[~judged["id"].str.startswith("suite/")]
    counted = of_paper[
        ~of_paper["verdict"].isin([claims.NOT_TESTABLE, claims.REPORTED_ONLY])
    ]
    words = {claims.REPLICATED, claims.CONTRADICTS, claims.INCONCLUSIVE}
    assert set(counted["verdict"]) == words, "and never: not replicated"
    assert (
        not judged["verdict"].isin([claims.NOT_SPECIFIC, claims.NOT_REPLICATED]).any()
    ), "there is no control model"
    assert (
        counted["note"]
        .str.contains("not the authors': the splits, .*which are yours")
        .all()
    )
    stored = ROOT.glob("notebooks/0[1-5]*.ipynb")
    assert not [
        path.name for path in stored if f"{claims.CONTRADICTS}:" in path.read_text()
    ]


def test_only_objects_on_white_have_masks(run):
    assert "object masks are known: False" in printed_by(run, "05_gradcam_comparison")
    effects = pd.read_csv(run / "tables/05_gradcam_comparison/context-effects.csv")
    assert {"mosaics", "pasting", "context alone"} <= set(effects["method"])
    assert set(effects["context"]) == set(pictures.CONTEXTS)
    assert "objects on white" in printed_by(run, "04_paste_check")
