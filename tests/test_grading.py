"""A lesson's copy, handed in and graded by nbgrader: right answers get their points, a missing and
a wrong one fail with their sentences. nbgrader has an environment of its own (TEACHING.md); it
runs whole lessons, so that by default only those are graded which train nothing (``GRADE="03 06"``
names others, ``GRADE=all`` all)."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from helpers import store
from helpers.suite import notebooks

BESIDE = store.root().parent / "nbgrader/bin/nbgrader"
NBGRADER = os.environ.get("NBGRADER") or shutil.which(
    "nbgrader", path=str(BESIDE.parent)
)
GRADE = os.environ.get("GRADE", "09 09b 13").split()
LESSONS = [
    path
    for path in notebooks.lessons()
    if GRADE == ["all"] or path.stem.split("_")[0] in GRADE
    if any(cell.metadata.get("nbgrader") for cell in nbformat.read(path, 4).cells)
]
STUB = re.compile(r"^([\w, =]+?) = None\b.*$", re.M)


def answered(copy: Path, lesson: Path, right: bool) -> nbformat.NotebookNode:
    """A student's copy with the lesson's answers; or with the first left out, and others wrong."""
    solutions = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in nbformat.read(lesson, 4).cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    handed, number = nbformat.read(copy, 4), 0
    for cell in handed.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            assert "SOLUTION" not in cell.source, "a student's copy holds no solution"
            number += 1
            if right:
                cell.source = solutions[cell.metadata.nbgrader.grade_id]
            elif number > 1:
                cell.source = STUB.sub(r"\1 = -12345.678", cell.source)
    return handed


@pytest.mark.slow
@pytest.mark.skipif(
    not NBGRADER, reason="no nbgrader in ../nbgrader: TEACHING.md, After the class"
)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_copy_is_collected_and_graded(lesson, tmp_path):
    course, name = tmp_path / "course", lesson.stem.split("_")[0]
    copies = tmp_path / "outputs/class/seat01"
    environment = {**os.environ, "SUITE_OUTPUTS": str(tmp_path / "outputs")}
    quiet = {"check": True, "capture_output": True, "text": True}
    module = [sys.executable, "-m", "helpers.suite.notebooks", "copy", str(copies)]
    subprocess.run(module, cwd=store.root(), env=environment, **quiet)
    for student in ("right", "wrong"):
        handed = answered(copies / lesson.name, lesson, student == "right")
        place = course / "submitted" / student / name / lesson.name
        store.write_text(place, nbformat.writes(handed))
    store.write_bytes(course / "source" / name / lesson.name, lesson.read_bytes())
    kernel = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    }
    kernel |= {"display_name": "the suite's", "language": "python"}
    store.write_text(
        tmp_path / "jupyter/kernels/python3/kernel.json", json.dumps(kernel)
    )
    environment |= {"JUPYTER_PATH": str(tmp_path / "jupyter")}
    environment |= {
        "SUITE_OUTPUTS": os.environ.get("SUITE_OUTPUTS", str(store.outputs()))
    }
    environment["PATH"] = (
        f"{Path(NBGRADER).parent}{os.pathsep}{os.environ['PATH']}"  # of alembic
    )
    patience = "--ExecutePreprocessor.timeout=1500"
    for words in (
        ["generate_assignment"],
        ["autograde", "--create", patience],
        ["export"],
    ):
        graded = [name] * (words[0] != "export")
        command = [NBGRADER, words[0], *graded, *words[1:]]
        done = subprocess.run(
            command, cwd=course, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
    with (course / "grades.csv").open() as file:
        points = {
            row["student_id"]: (row["score"], row["max_score"])
            for row in csv.DictReader(file)
        }
    assert points["right"][0] == points["right"][1] and float(points["right"][1]) >= 1
    assert float(points["wrong"][0]) == 0
    cells = nbformat.read(course / "autograded/wrong" / name / lesson.name, 4).cells
    errors = [
        next(
            (out.ename, out.evalue)
            for out in cell.outputs
            if out.output_type == "error"
        )
        for cell in cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    assert {kind for kind, _ in errors} == {"Wrong"}, errors
    assert "not answered yet" in errors[0][1] and all(
        "not answered" not in e for _, e in errors[1:]
    )
