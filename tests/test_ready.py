"""`make check` and its answers, each with a machine that is ready and with one that is not."""

import os
import subprocess

import pytest

import helpers
from helpers import store
from helpers.models import probe
from helpers.suite import notebooks, parameters, project, ready

TEXT = {"capture_output": True, "text": True}
GIGABYTES = {"SC_PAGE_SIZE": 10**9, "SC_PHYS_PAGES": 4}


@pytest.fixture(autouse=True)
def class_room(tmp_path, monkeypatch):
    """A machine that is ready, whose outputs are in a folder of their own."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setattr(ready, "numbers", lambda: (True, "The numbers", 2.0))


def answers(capsys):
    ready.main()
    return capsys.readouterr().out


@pytest.mark.skipif(helpers.unpinned is not None, reason=f"not pinned: {helpers.unpinned}")
def test_a_short_training_has_the_stored_digest(monkeypatch):
    monkeypatch.undo()
    fine, told, slower = ready.numbers()
    assert fine and "expected digest" in told and slower > 0
    trained = probe.trained
    monkeypatch.setattr(ready, "TRAINED", "vgg11-eighth")
    monkeypatch.setattr(probe, "trained", lambda _: trained("alexnet-quarter"))
    fine, told, _ = ready.numbers()
    assert not fine and "a training ended with another digest" in told


def test_where_kernels_are_not_pinned_the_digest_does_not_count(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(helpers, "unpinned", "the pins are turned off")
    fine, told, _ = ready.numbers()
    assert not fine and "not those of the text: the pins are turned off." in told


def test_a_machine_that_is_ready(capsys, monkeypatch):
    monkeypatch.setattr(ready, "MEMORY", 0)
    monkeypatch.setattr(ready, "DISK", 0)
    monkeypatch.setattr(project, "wait", lambda *given: project.HERE)
    told = answers(capsys)
    assert told.endswith("\nready for the class\n") and "NO" not in told
    assert "ok  The networks of all lessons are here." in told


def test_networks_that_are_missing_are_told_with_their_minutes(capsys):
    told = answers(capsys)
    several = len(notebooks.lessons()) - len(ready.KEEP_NOTHING)
    assert f"{several} lessons train first. `make run`" in told and "    09_" not in told
    assert "06_focus_rating: Its first run takes about 8 minutes" in told


@pytest.mark.parametrize(
    ("of", "name", "value", "told"),
    [
        (ready, "numbers", lambda: (False, "other numbers", 1.0), "other numbers"),
        (ready.os, "sysconf", GIGABYTES.get, "4 GB of memory"),
        (ready, "DISK", 1e9, "GB are free on the disk"),
    ],
)
def test_what_is_missing_is_told_and_what_to_do(capsys, monkeypatch, of, name, value, told):
    monkeypatch.setattr(of, name, value)
    line, to_do = answers(capsys).split("To do:")
    assert told in to_do and told in next(one for one in line.splitlines() if one[:2] == "NO")
    assert "ready for the class" not in to_do


@pytest.mark.slow
def test_networks_are_packed_checked_and_unpacked_and_serve_their_lesson(tmp_path):
    path = next(one for one in notebooks.lessons() if one.stem.startswith("02"))
    settings = parameters.accepted(parameters.defaults(path), {})
    store.write_text(project.noted(path.stem, settings), path.stem)
    (store.networks() / "model-a.safetensors").write_bytes(b"a" * 1000)

    def make(*words, **where):
        command = ["make", "-o", ".venv/ready", "networks", *words]
        environment = {**os.environ, **where}
        return subprocess.run(command, cwd=store.root(), env=environment, **TEXT)

    assert "02_cross_evaluation" not in make().stdout
    packed, other = store.outputs() / "networks.tar", {"SUITE_OUTPUTS": str(tmp_path / "other")}
    told = make(f"FROM={packed}", **other)
    assert told.returncode == 0 and "03_" in told.stdout and "02_" not in told.stdout
    assert (tmp_path / "other/models/model-a.safetensors").read_bytes() == b"a" * 1000
    packed.write_bytes(packed.read_bytes()[:-1] + b"x")
    told = make(f"FROM={packed}", SUITE_OUTPUTS=str(tmp_path / "third"))
    assert told.returncode and "is not whole" in told.stdout and not (tmp_path / "third").exists()


def test_every_lesson_that_is_waited_for_notes_that_its_networks_are_here():
    """So that "the networks of all lessons are here" can be said at all."""
    for path in notebooks.lessons():
        if path.stem.split("_")[0] not in ready.KEEP_NOTHING:
            cells = notebooks.read(path).cells
            assert any("run.findings(" in cell.source for cell in cells), path.stem


def test_all_networks_are_here_once_each_of_these_lessons_ran():
    for path in notebooks.lessons():
        settings = parameters.accepted(parameters.defaults(path), {"output": "demo"})
        if path.stem.split("_")[0] not in ready.KEEP_NOTHING:
            store.write_text(project.noted(path.stem, settings), path.stem)
    assert ready.lessons(1.0) == ["ok  The networks of all lessons are here."]
