"""Figures look the same whatever matplotlib is told by its environment."""

import os
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import pytest
from nbclient import NotebookClient

from helpers import store
from helpers.figures import style

OF_A_USER = "text.usetex: True\nfont.size: 22\nsavefig.dpi: 40\n"
DRAWS = """import hashlib
import matplotlib.pyplot as plt
from helpers.figures import style

style.set_style()
figure, ax = plt.subplots()
ax.set(title="a title", xlabel="x")
print(hashlib.sha256(style._saved(figure, "png", Software=None)).hexdigest())"""


def drawn(**environment):
    """The digest of a figure that a fresh process draws."""
    own = {name: text for name, text in os.environ.items() if name != "MATPLOTLIBRC"}
    own |= {"PYTHONPATH": str(store.root()), **environment}
    done = subprocess.run(
        [sys.executable, "-c", DRAWS], env=own, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_matplotlibrc_of_the_user_changes_no_figure(tmp_path):
    settings = store.write_text(tmp_path / "matplotlibrc", OF_A_USER)
    assert drawn(MATPLOTLIBRC=str(settings)) == drawn()


def test_the_style_starts_from_matplotlibs_defaults_and_keeps_the_backend():
    with mpl.rc_context({"text.usetex": True, "lines.linewidth": 9}):
        backend = plt.get_backend()
        style.set_style()
        assert not mpl.rcParams["text.usetex"]
        assert mpl.rcParams["lines.linewidth"] < 9
        assert plt.get_backend() == backend


@pytest.mark.slow
def test_figures_are_in_the_notebook_where_the_environment_sets_another_backend(
    tmp_path,
):
    source = (
        "import matplotlib.pyplot as plt\nfrom helpers.figures import style\nstyle.set_style()\n"
        "style.show(plt.figure(), 'empty', 'A figure without anything in it')"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    own = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(store.root())}
    NotebookClient(notebook, kernel_name="python3").execute(env=own, cwd=str(tmp_path))
    [output] = notebook.cells[0].outputs
    assert "<img src=" in output.data["text/html"]
