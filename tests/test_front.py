"""README and 00 begin with findings whose numbers are those of recorded tables."""

import re
import tomllib

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from front import FINDINGS, README, findings

from helpers import claims, overview, site, store
from helpers.focus import claims as focus_claims


@pytest.fixture(scope="module")
def three():
    return overview.three().data.splitlines()


def test_readme_begins_with_the_three_findings():
    [shown] = FINDINGS.findall(README.read_text())
    assert shown == findings(), "`python tests/front.py` writes them again"


def test_00_begins_with_the_three_findings():
    notebook = nbformat.read(overview.NOTEBOOKS / "00_start_here.ipynb", 4)
    shown = [
        output["data"].get("text/markdown")
        for cell in notebook.cells
        if "overview.three" in cell.source
        for output in cell.outputs
    ]
    assert [text for text in shown if text] == overview.three().data.splitlines()


def test_the_first_finding_has_the_rates_of_lesson_05b(three):
    judged = overview.findings([overview.NOTEBOOKS / "05b_dose_and_worlds.ipynb"])
    measured = judged.set_index(["id", "subject"])["estimate"]
    methods = ["context alone, logits, minus other contexts", "mosaics, flips, raw"]
    rates = [
        measured[f"suite/contexts/{quantity}", method]
        for method in methods
        for quantity in ("power", "alarms")
    ]
    assert re.findall(r"(\d+%) \(95% CI", three[0]) == [f"{rate:.0%}" for rate in rates]


def test_the_second_finding_has_the_rates_of_the_recorded_trials(three):
    trials = focus_claims.judged(store.recorded_table("eyespot_trials.csv"))
    biased = trials[(trials["bias_strength"] == 1) & trials["learned"]]
    unbiased = trials[trials["bias_strength"] == 0]
    assert f"{biased['detected'].mean():.0%} (95% CI" in three[1]
    assert f"{unbiased['detected'].mean():.0%} (95% CI" in three[1]
    assert len(biased) == 120
    assert len(unbiased) == 120 and three[1].count("120 trials") == 2


def test_the_third_finding_is_what_a_simulation_without_bias_gives(three):
    rng = np.random.default_rng(0)
    positive = rng.random((800, 1000)) < 0.1
    medians = []
    for n_groups in (2, 60):
        groups = rng.integers(0, n_groups, positive.shape)
        ratios = []
        for labels, predictions in zip(groups, positive, strict=True):
            counts = np.bincount(labels, predictions, minlength=n_groups)
            rates = counts / np.bincount(labels, minlength=n_groups)
            ratios.append(rates.min() / rates.max())
        medians.append(np.median(ratios))
    number = float(re.search(r"by (0\.\d+) \(95% CI", three[2])[1])
    assert number == pytest.approx(medians[0] - medians[1], abs=0.03)


def test_readme_counts_the_verdicts_that_all_recorded_seeds_share():
    seeds = pd.read_csv(store.root() / "data" / "seeds.csv", keep_default_na=False)
    not_judged = [claims.REPORTED_ONLY, claims.NOT_TESTABLE]
    judged = seeds[~seeds["verdict"].isin(not_judged) & (seeds["seed"] < 8)]
    kinds = judged.groupby(["lesson", "id", "of"])["verdict"].nunique()
    n_lessons = judged["lesson"].nunique()
    assert (
        f"Of {len(kinds)} verdicts of {n_lessons} lessons, {(kinds == 1).sum()} come out "
        f"the same in all 8 recorded seeds, {(kinds > 1).sum()} differ"
    ) in README.read_text()


@pytest.mark.parametrize(
    "path",
    [*store.root().glob("*.md"), *(store.root() / "guide").glob("*.md")],
    ids=lambda path: path.stem,
)
def test_linked_files_exist(path):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not missing


def test_one_version_is_named_everywhere():
    root = store.root()
    project = tomllib.loads((root / "pyproject.toml").read_text())
    version = project["project"]["version"]
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    date = citation["date-released"]
    changes = (root / "CHANGELOG.md").read_text()
    headings = re.findall("^## (.*)", changes, re.MULTILINE)
    assert citation["version"] == version
    assert headings[0] == f"{version} ({date})"
    assert f"Version {version}" in README.read_text()


def test_the_guide_lists_its_pages():
    pages = [f"guide/{path.stem}" for path in (store.root() / "guide").glob("*.md")]
    assert sorted(site.guide_pages()) == sorted(pages)


def test_variables_of_the_guide_are_parameters_of_the_audits():
    for kind, notebook in {
        "table": "13_audit_your_table",
        "detector": "12_audit_your_detector",
        "model": "11_audit_your_model",
    }.items():
        cells = overview.read(overview.NOTEBOOKS / f"{notebook}.ipynb").cells
        declared = next(
            cell.source
            for cell in cells
            if "parameters" in cell.metadata.get("tags", [])
        )
        names = set(re.findall(r"^(\w+):", declared, re.MULTILINE))
        page = "audit_model" if kind == "model" else f"your_{kind}"
        text = (store.root() / "guide" / f"{page}.md").read_text()
        for command in re.findall(rf"make audit-{kind} (.*)", text):
            used = re.findall(r"\b([A-Z][A-Z_]+)=", command)
            assert {name.lower() for name in used} <= names, command


def test_the_audit_in_readme_prints_what_readme_shows(capsys, monkeypatch, tmp_path):
    data = store.root() / "data"
    link = tmp_path / "data"
    link.symlink_to(data)
    monkeypatch.chdir(tmp_path)
    text = README.read_text()
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out in re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    report = tmp_path / "report"
    page = report / "page.html"
    assert page.exists()
