"""The store: stable names, whole files, one maker at a time."""

import importlib.util
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from helpers import store

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)


def canonical(value):
    """Equal for two values exactly when their keys must be equal (an independent definition)."""
    if isinstance(value, dict):
        return (
            "dict",
            tuple(sorted((name, canonical(item)) for name, item in value.items())),
        )
    if isinstance(value, list):
        return ("list", tuple(canonical(item) for item in value))
    return (type(value).__name__, repr(value))


@given(VALUES, VALUES)
def test_keys_are_equal_exactly_when_contents_are(left, right):
    same = repr(canonical(left)) == repr(canonical(right))
    assert (store.key("x", value=left) == store.key("x", value=right)) is same


@pytest.mark.parametrize("value", [print, object(), {1, 2}, np.array([None])])
def test_key_refuses_what_has_no_content(value):
    with pytest.raises(TypeError, match=r"model\.thing\[1\] is a .*no content"):
        store.key("model", thing=[0, value])


def test_cached_makes_once_and_keeps_the_ending(tmp_path):
    seen = []

    def make(path):
        seen.append(path)
        path.write_text("whole")

    target = tmp_path / "deep" / "table.csv"
    assert store.cached(target, make) == target == store.cached(str(target), make)
    assert len(seen) == 1
    assert seen[0].suffix == ".csv"
    assert seen[0].parent == target.parent
    assert target.read_text() == "whole"
    assert not seen[0].exists()


def test_cached_keeps_nothing_when_making_fails(tmp_path):
    def fail(path):
        path.write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.cached(tmp_path / "a", fail)
    with pytest.raises(FileNotFoundError):
        store.cached(tmp_path / "a", lambda path: None)
    assert [path for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


MAKER = """
import sys, time
from pathlib import Path
from helpers import store

def make(path):
    with path.open("w") as file:
        file.write("begun ")
        file.flush()
        Path(sys.argv[1]).with_name(f"made-by-{sys.argv[2]}").touch()
        time.sleep(float(sys.argv[3]))
        file.write("ended")

print(store.cached(Path(sys.argv[1]), make).read_text())
"""


def start_maker(path, name, seconds):
    command = [sys.executable, "-c", MAKER, str(path), name, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_of_two_processes_one_makes_and_both_read_the_whole(tmp_path):
    makers = [start_maker(tmp_path / "a", name, 0.5) for name in "12"]
    assert [maker.communicate()[0].strip() for maker in makers] == ["begun ended"] * 2
    assert len(list(tmp_path.glob("made-by-*"))) == 1


def test_a_killed_maker_leaves_nothing_taken_for_whole_and_blocks_nobody(tmp_path):
    killed = start_maker(tmp_path / "a", "killed", 60)
    deadline = time.monotonic() + 20
    while not (tmp_path / "made-by-killed").exists():
        assert time.monotonic() < deadline, "it did not begin"
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not (tmp_path / "a").exists()
    assert (
        start_maker(tmp_path / "a", "next", 0).communicate()[0].strip() == "begun ended"
    )
    assert list(tmp_path.glob(".partial-*")) == []


def test_write_replaces_in_one_step(tmp_path):
    path = store.write_text(tmp_path / "new" / "a.txt", "eins\n")
    with path.open("rb") as opened_before:
        store.write_bytes(path, "zwölf\n".encode())
        assert opened_before.read() == b"eins\n"
    assert path.read_text(encoding="utf-8") == "zwölf\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


METHOD = """
LIMIT = 3


def scale(x):
    return 2 * x


def method(x):
    return min(scale(x), LIMIT)
"""


def digest_in_module(folder, source: str) -> str:
    """Digest the function `method` of a module with this source."""
    path = store.write_text(folder / f"{store.key('module', source=source)}.py", source)
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return store.function_digest(module.method)


def test_the_digest_of_a_function_ignores_comments_docstrings_and_formatting(tmp_path):
    commented = METHOD.replace(
        "    return min(scale(x), LIMIT)",
        '    """Scale, with a limit."""\n    # at most\n    return min(\n        scale(x),\n        LIMIT)',
    )
    assert digest_in_module(tmp_path, commented) == digest_in_module(tmp_path, METHOD)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("min(scale(x), LIMIT)", "max(scale(x), LIMIT)"),
        ("return 2 * x", "return 2 + x"),
        ("LIMIT = 3", "LIMIT = 4"),
    ],
    ids=["its body", "a function that it calls", "a constant that it reads"],
)
def test_the_digest_of_a_function_changes_with(before, after, tmp_path):
    edited = METHOD.replace(before, after)
    assert digest_in_module(tmp_path, edited) != digest_in_module(tmp_path, METHOD)


def test_a_function_has_one_digest_in_a_notebook_and_in_a_module(tmp_path):
    shell = InteractiveShell()
    shell.run_cell(METHOD)
    method = shell.user_ns["method"]
    assert store.function_digest(method) == digest_in_module(tmp_path, METHOD)


@pytest.mark.parametrize("function", [len, torch.nn.Linear(1, 1), partial(max, 1)])
def test_a_callable_without_source_has_no_digest(function):
    with pytest.raises(TypeError):
        store.function_digest(function)


def test_a_key_does_not_see_how_an_array_lies_in_memory():
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    key = store.key("x", a=array)
    assert store.key("x", a=np.asfortranarray(array)) == key
    assert store.key("x", a=array.astype(">i4")) == key
    assert store.key("x", a=torch.from_numpy(array)) == key


def test_a_key_sees_the_numbers_the_shape_and_the_type_of_an_array():
    array = np.zeros((2, 3), dtype=np.uint8)
    changed = array.copy()
    changed[1, 2] = 1
    values = [array, changed, array.reshape(3, 2), array.astype(np.int8), array[:1]]
    assert len({store.key("x", a=value) for value in values}) == 5


def test_a_key_is_the_recorded_one():
    """Another machine or session must find what was stored."""
    name = store.key("model", seed=0, lr=1e-3, classes=("bench", "mug"), weights=None)
    assert name == "model-2db890dff0796fa3"
