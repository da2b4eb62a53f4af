"""The sweep: what it gathers, against constructed runs; what it plans; that it resumes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import yaml

from helpers.contexts import sweep
from helpers.run import project

MEASURES = (("mosaics", "logits"), ("GradCAM", "relevance"))


@pytest.fixture
def runs(tmp_path):
    """Answers of five doses and three seeds: one measure follows the dose, one does not."""
    rng, files = np.random.default_rng(0), []
    for dose in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in (0, 1, 2):
            rows = [
                {
                    "dose": dose,
                    "seed": seed,
                    "context_class": name,
                    "planted": dose,
                    "method": measure[0],
                    "quantity": measure[1],
                    "effect": effect,
                    "low": effect - 0.3,
                    "high": effect + 0.3,
                    "answer": "yes" if effect > 0.3 else "no",
                }
                for name in ("bench", "plane")
                for measure, effect in zip(MEASURES, (dose, rng.normal() / 10), strict=True)
            ]
            folder = tmp_path / str(len(files)) / "tables" / "05_gradcam_comparison"
            folder.mkdir(parents=True)
            pd.DataFrame(rows).to_csv(folder / "answers.csv", index=False)
            files.append(folder / "answers.csv")
    return files


def test_one_table_of_any_sweep_says_which_parameters_differ(tmp_path, monkeypatch):
    files = []
    for method, seed in (("lime", 2), ("ig", 10)):
        run = tmp_path / method
        files.append(run / "tables" / "06_any" / "focus.csv")
        files[-1].parent.mkdir(parents=True)
        files[-1].write_text("mean\n0.5\n")
        settings = {"output": method, "method": method, "seed": seed, "shape": "native"}
        (run / "findings").mkdir()
        (run / "findings" / "06_any.json").write_text(json.dumps({"settings": settings}))
    monkeypatch.setattr(sys, "argv", ["sweep", "--tables", str(tmp_path), *map(str, files)])
    sweep.main()
    table = pd.read_csv(tmp_path / "focus.csv")
    assert table.to_dict("list") == {"mean": [0.5, 0.5], "method": ["lime", "ig"], "seed": [2, 10]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("seed=[0,1]", "did you mean 'seeds'"),
        ("parameters={seed: 7}", "this sweep sets seed itself"),
        ("doses=[0,1.5]", "1.5"),
    ],
)
def test_a_sweep_refuses_what_is_wrong_before_anything_runs(tmp_path, config, said):
    done = snakemake(tmp_path, "--cores", "1", "--config", config)
    assert done.returncode != 0 and said in done.stderr + done.stdout
    assert "refused before anything ran" in done.stderr + done.stdout
    assert not (tmp_path / "outputs").exists()


def test_correlations_are_spearmans_over_runs(runs):
    table = pd.concat(map(pd.read_csv, runs))
    found = sweep.correlations(table).set_index("method")
    assert found.loc["mosaics", "spearman"] == pytest.approx(1)
    part = table[table["method"] == "GradCAM"].groupby(["dose", "seed"])["effect"].mean()
    theirs = scipy.stats.spearmanr(part.index.get_level_values("dose"), part).statistic
    row = found.loc["GradCAM"]
    assert row["spearman"] == pytest.approx(theirs)
    assert row["low"] < row["spearman"] < row["high"]
    assert (found["runs"] == 15).all()


def test_gather_writes_tables_and_a_figure(runs, tmp_path, capsys):
    sweep.gather(tmp_path, runs)
    rates = pd.read_csv(tmp_path / "rates.csv").set_index(["method", "dose"])
    assert rates.loc[("mosaics", 1.0), "rate"] == 1
    assert rates.loc[("mosaics", 0.0), "rate"] == 0
    assert len(pd.read_csv(tmp_path / "answers.csv")) == 60
    assert (tmp_path / "dose-response.png").read_bytes()[:4] == b"\x89PNG"
    assert "false alarms" in capsys.readouterr().out


def snakemake(tmp_path, *arguments):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "SUITE_OUTPUTS": str(tmp_path / "outputs"), "PATH": path}
    command = [sys.executable, "-m", "snakemake", "-s", "sweeps/context_bias.smk", "--nolock"]
    return subprocess.run(
        [*command, *arguments], cwd=project.root(), env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
def test_the_sweep_plans_every_dose_and_seed(tmp_path):
    done = snakemake(tmp_path, "--dry-run", "--quiet", "host")
    assert done.returncode == 0, done.stderr
    plan = [line.split() for line in (done.stdout + done.stderr).splitlines()]
    assert ["ask", "15"] in plan and ["gather", "1"] in plan


@pytest.mark.slow
def test_a_sweep_runs_and_a_second_time_has_nothing_to_do(tmp_path):
    small = {"images": {"per_class": 18, "size": 64}, "per_context": 1, "trainings": 2}
    small["model"] = {"architecture": "alexnet-quarter", "epochs": 1}
    config = tmp_path / "small.yml"
    config.write_text(yaml.safe_dump({"doses": [1], "seeds": [0], "parameters": small}))
    arguments = ["--cores", "1", "--configfile", str(config)]
    done = snakemake(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    written = tmp_path / "outputs" / "sweep"
    for name in ("answers.csv", "rates.csv", "correlations.csv", "dose-response.png"):
        assert (written / name).exists()
    again = snakemake(tmp_path, *arguments)
    assert "Nothing to be done" in again.stdout + again.stderr
