"""Many worlds: rates and AUC against other computations; the sweep plans, runs and resumes."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportion_confint

from helpers import store
from helpers.contexts import claims, methods, sweep
from helpers.data.images import Images
from helpers.models.recipe import Recipe
from helpers.suite.claims import judge
from sweeps import context_worlds


def made(effect, *, worlds=12, width=0.3, seed=0):
    """Worlds in which every measure has the effect that a function of dose and draws gives."""
    rng, names = np.random.default_rng(seed), ("bench", "plane", "mug")
    quantities = [(method, of) for method, several in methods.QUANTITIES.items() for of in several]
    keys = range(worlds), sweep.DOSES, quantities, methods.READINGS, (5, 1), names
    rows = [
        (seed, dose, method, quantity, reading, trainings, name, effect(dose, reading, rng))
        for seed, dose, (method, quantity), reading, trainings, name in product(*keys)
    ]
    columns = ["seed", "dose", *methods.MEASURE, "trainings", "context_class", "effect"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(low=table["effect"] - width, high=table["effect"] + width, spread=0.1)


def told(dose, reading, rng):
    """Raw effects know nothing; the others follow the dose."""
    return rng.normal() + (0 if reading == methods.RAW else 4 * (dose - sweep.NOTHING))


def test_auc_is_mann_whitneys_over_all_pairs_of_contexts():
    worlds = made(told)
    found = sweep.told_apart(worlds).set_index(sweep.ASKED)
    for measure, part in worlds.groupby(sweep.ASKED):
        planted, nothing = (part.loc[part["dose"] == dose, "effect"] for dose in (1, 0.25))
        u = scipy.stats.mannwhitneyu(planted, nothing).statistic
        row = found.loc[measure]
        assert row["auc"] == pytest.approx(u / (len(planted) * len(nothing)))
        assert row["low"] <= row["auc"] <= row["high"] and row["worlds"] == 12


def test_rates_are_shares_of_contexts_and_worlds_are_the_units():
    """A world's contexts say the same here: they count once."""
    worlds = made(told)
    first = worlds.groupby(["dose", "seed", *sweep.ASKED])["low"].transform("first")
    found = sweep.rates(worlds.assign(low=first)).set_index(["dose", *sweep.ASKED])
    assert methods.RAW not in found.index.get_level_values("reading")
    measure = (0.5, "mosaics", "flips", methods.NEUTRAL, 5)
    by_world = worlds.assign(low=first).groupby(["dose", *sweep.ASKED, "seed"])["low"].first()
    yes = (by_world.loc[measure] > 0).sum()
    low, high = proportion_confint(yes, 12, method="wilson")
    assert 0 < yes < 12 and found.loc[measure, "yes"] == pytest.approx(yes / 12)
    assert found.loc[measure, "low"] < low + 0.02 and found.loc[measure, "high"] > high - 0.02
    none = sweep.rates(worlds.assign(low=-1.0))
    assert np.allclose(none["high"], proportion_confint(0, 12, method="wilson")[1])


def test_claims_hold_where_the_dose_shows_and_not_where_nothing_does():
    verdicts = judge("05b", claims.of_worlds(made(told, width=2))).set_index("id")["verdict"]
    assert (verdicts["suite/contexts/raw"] == "undecided").all()
    assert verdicts["suite/contexts/neutral"] == "holds"
    assert (verdicts["suite/contexts/follows"] == "holds").all()
    noise = made(lambda dose, reading, rng: rng.normal(), seed=1)
    verdicts = judge("05b", claims.of_worlds(noise)).set_index("id")["verdict"]
    assert (verdicts["suite/contexts/follows"] != "holds").all()
    assert (verdicts["suite/contexts/alarms"] == "does not hold").all()
    assert (
        verdicts["suite/contexts/neutral"] == verdicts["suite/contexts/one-training"] == "undecided"
    )


@pytest.fixture(scope="module")
def small():
    images = Images("world", 96, 18)
    return context_worlds.world(7, (0.25, 1.0), images, Recipe(trainings=2, epochs=1))


def test_a_world_asks_all_trainings_and_the_first_alone(small):
    assert list(small["trainings"].unique()) == [2, 1] and set(small["dose"]) == {0.25, 1}
    assert small.loc[small["trainings"] == 1, "spread"].isna().all()
    known = small[small["method"] != "GradCAM"]  # whose maps can be empty, so that fewer count
    rows = known.set_index(["dose", "context_class", *methods.MEASURE])
    both, one = (rows[rows["trainings"] == number] for number in (2, 1))
    # two numbers lie on either side of their mean, and their deviation tells how far
    apart = 2 * (one["effect"] - both["effect"]).abs() / 2**0.5
    assert (both["spread"] - apart).abs().max() < 1e-6


def test_where_nothing_is_planted_the_reference_is_not_the_model_itself(small):
    beyond = small[(small["dose"] == 0.25) & (small["reading"] == methods.REFERENCE)]
    assert (beyond.loc[beyond["quantity"] == "logits", "effect"].abs() > 1e-6).all()


def test_the_recorded_worlds_are_whole():
    worlds = sweep.recorded()
    assert list(worlds["seed"].unique()) == list(context_worlds.SEEDS)
    measures = len(methods.READINGS) * sum(map(len, methods.QUANTITIES.values()))
    sizes = worlds.groupby(["seed", "dose", "trainings"]).size()
    assert (sizes == 4 * measures).all() and len(sizes) == 10 * len(sweep.DOSES) * 2
    with pytest.raises(ValueError, match="There is no file"):
        sweep.recorded(store.root() / "data" / "nothing.csv")


def snakemake(tmp_path, *arguments):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "SUITE_OUTPUTS": str(tmp_path / "outputs"), "PATH": path}
    command = [sys.executable, "-m", "snakemake", "-s", "sweeps/context_bias.smk", "--nolock"]
    return subprocess.run(
        [*command, *arguments], cwd=store.root(), env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("seed=[0,1]", "did you mean 'seeds'"),
        ("doses=[0,1.5]", "1.5"),
        ("per_class=1", "per_class"),
    ],
)
def test_a_sweep_refuses_what_is_wrong_before_anything_runs(tmp_path, config, said):
    done = snakemake(tmp_path, "--cores", "1", "--config", config)
    assert done.returncode != 0 and said in done.stderr + done.stdout
    assert "refused before anything ran" in done.stderr + done.stdout
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
def test_a_sweep_runs_and_a_second_time_has_nothing_to_do(tmp_path):
    config = tmp_path / "small.yml"
    config.write_text("{seeds: [0], doses: [0.25, 1], per_class: 18, trainings: 2}")
    done = snakemake(tmp_path, "--cores", "1", "--configfile", str(config))
    assert done.returncode == 0, done.stderr[-3000:]
    written = sweep.recorded(tmp_path / "outputs" / "sweep" / "worlds.csv")
    assert set(written["dose"]) == {0.25, 1} and set(written["seed"]) == {0}
    again = snakemake(tmp_path, "--cores", "1", "--configfile", str(config))
    assert "Nothing to be done" in again.stdout + again.stderr
