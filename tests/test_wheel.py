"""The built wheel is whole: installed alone, beside another `helpers.py`, its word audits."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from helpers import store

NETWORK = """
import torch
from torch import nn

class Red(nn.Module):  # blue or red: the mean of a channel decides
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 3, 1, bias=False), nn.Linear(3, 2)
        self.conv.weight.data = torch.eye(3)[:, :, None, None]
        self.fc.weight.data = torch.tensor([[-9.0, 0, 9], [9, 0, -9]])
        self.fc.bias.data.zero_()

    def forward(self, x):
        return self.fc(self.conv(x).relu().mean((2, 3)))

mean, std, size, classes = (0, 0, 0), (1, 1, 1), 64, ("blue", "red")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with another helpers.py, and a new environment that has the wheel; every library but
    the package itself is found in the suite's own environment."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "helpers.py").write_text("raise SystemExit('another helpers.py was run')")
    tell = {"check": True, "capture_output": True, "text": True, "cwd": store.root()}
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(folder),
    ]
    subprocess.run(build, **tell)
    (wheel,) = folder.glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "env"], **tell
    )
    (own,) = (folder / "env").glob("lib/*/site-packages")
    (own / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    python = str(folder / "env/bin/python")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run(
        [*pip, "--no-build-isolation", "--force-reinstall", str(wheel)], **tell
    )
    return folder


def audit(place: Path, *words: str) -> tuple[dict, Path]:
    """What an audit found, and the folder that the word names."""
    outside = ("SUITE_OUTPUTS", "PYTHONPATH", "VIRTUAL_ENV", "JUPYTER_PATH")
    environment = {
        name: value for name, value in os.environ.items() if name not in outside
    }
    command = [place / "env/bin/visual-bias", "audit", *words]
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    folder = Path(done.stdout.split("open ")[1].strip()).parent
    return json.loads((folder / "findings.json").read_text()), folder


@pytest.mark.slow
def test_a_wheel_holds_its_data_and_the_notebooks_it_runs(place):
    (wheel,) = place.glob("*.whl")
    names = {*zipfile.ZipFile(wheel).namelist()}
    data = {
        f"helpers/share/{path.relative_to(store.root())}"
        for path in (store.root() / "data").rglob("*")
        if path.is_file() and "downloads" not in path.parts
    }
    assert data <= names and len(data) > 40
    assert any(
        name.endswith("data/etc/ipython/ipython_kernel_config.py") for name in names
    )
    notebooks = {name.split("/")[-1][:3] for name in names if name.endswith(".ipynb")}
    assert notebooks == {"11_", "12_", "13_"}
    tops = {name.split("/")[0] for name in names if ".d" not in name.split("/")[0]}
    assert tops == {"helpers"}
    where = "import helpers, helpers.store as s; print(helpers.__file__, s.root(), s.outputs())"
    told = [place / "env/bin/python", "-P", "-c", where]
    here = {"cwd": place, "capture_output": True, "text": True, "check": True}
    paths = subprocess.run(
        told, env={"PATH": os.environ["PATH"]}, **here
    ).stdout.split()
    (own,) = (place / "env").glob("lib/*/site-packages")
    assert paths == [
        f"{own}/helpers/__init__.py",
        f"{own}/helpers/share",
        f"{place}/outputs",
    ]


@pytest.mark.slow
def test_a_table_is_audited(place):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"group": np.repeat(["a", "b"], 300), "y_true": rng.integers(0, 2, 600)}
    )
    lost = (rows["group"] == "b") & (rng.random(600) < 0.5)
    rows.assign(y_pred=rows["y_true"].where(~lost, 0)).to_csv(
        place / "mine.csv", index=False
    )
    record, folder = audit(place, "--table", "mine.csv", "--sensitive", "group")
    assert folder == place / "outputs/audit/mine"
    assert record["command"] == (
        f"visual-bias audit --table {place / 'mine.csv'} --sensitive group"
    )
    first = record["findings"][0]
    assert first["by"] == "group" and first["verdict"] == "more than chance gives"


@pytest.mark.slow
def test_a_detector_is_audited(place):
    rng, labels, hits = np.random.default_rng(0), [], []
    for i in range(120):
        for j in range(3):
            box = (40 * j, 10, 40 * j + 30, 50)
            labels.append(
                (f"{i}.png", "car", *box, "ab"[i % 2], ["day", "night"][i // 2 % 2])
            )
            if i % 2 or rng.random() < 0.4:
                hits.append((f"{i}.png", "car", *box, rng.random()))
    columns = ["image", "class", "x1", "y1", "x2", "y2"]
    pd.DataFrame(labels, columns=[*columns, "town", "light"]).to_csv(
        place / "boxes.csv", index=False
    )
    pd.DataFrame(hits, columns=[*columns, "score"]).to_csv(
        place / "found.csv", index=False
    )
    record, _ = audit(place, "--labels", "boxes.csv", "--predictions", "found.csv")
    first = record["findings"][0]
    assert first["finding"] == "town/all classes pooled"
    assert first["verdict"] == "more than chance gives"


@pytest.mark.slow
def test_a_network_is_audited(place):
    (place / "mine.py").write_text(NETWORK)
    rng = np.random.default_rng(0)
    kinds = {"photos/blue": (40, 60, 200), "photos/red": (200, 60, 40)}
    kinds |= {"places/grass": (60, 160, 60), "places/stone": (128, 128, 128)}
    for name, colour in kinds.items():
        (place / name).mkdir(parents=True)
        for i in range(16):
            pixels = rng.normal(colour, 25, (64, 64, 3)).clip(0, 255).astype("uint8")
            Image.fromarray(pixels).save(place / name / f"{i}.png")
    words = ("--model", "mine.py:Red", "--images", "photos", "--contexts", "places")
    record, folder = audit(place, *words)
    assert record["command"].startswith(
        "visual-bias audit --model mine.py:Red --images /"
    )
    assert (
        record["network"] == "mine.py:Red"
        and "16" in (folder / "page.html").read_text()
    )
