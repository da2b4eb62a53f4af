"""The recorded trials of the model audit can be made again."""

import pandas as pd
import pytest

import helpers
from helpers import store
from sweeps import audit_trials

REAL = store.root().parent / "shared" / "real"
PHOTOGRAPHS = REAL / "photos4"
WEIGHTS = REAL / "weights" / "squeezenet1_0_imagenet.safetensors"


@pytest.mark.slow
@pytest.mark.skipif(not helpers.pinned, reason="the kernels are not pinned")
@pytest.mark.parametrize(
    "images", ["photographs", audit_trials.CAPTION, "synthetic images"]
)
def test_the_trials_of_one_partition_are_those_of_the_table(images, monkeypatch):
    monkeypatch.setattr(audit_trials, "FINE_TUNED", [])  # these take minutes
    if images != "synthetic images" and not PHOTOGRAPHS.is_dir():
        pytest.skip("there are no photographs next to the checkout")
    made = audit_trials.measure(images, 7000, str(PHOTOGRAPHS), str(WEIGHTS))
    recorded = store.recorded_table("audit_trials.csv")
    recorded = recorded.query("images == @images and seed == 7000 and layers == 'last'")
    made["recipe"] = made["recipe"].astype(str)
    pd.testing.assert_frame_equal(
        made.fillna(float("nan")),
        recorded.reset_index(drop=True).fillna(float("nan")),
        check_dtype=False,
        rtol=1e-3,
        atol=1e-4,
    )
