"""The thirteenth and further: what fresh eyes found silently wrong after the first twelve."""

import re

import numpy as np
import pandas as pd
import pytest
import torch
from test_audit import of_rows

from helpers import models, source
from helpers.audit import page, tally
from helpers.blocks import counts, curves

N = 1200
SEX = np.repeat(["f", "m"], N // 2)
ROWS = pd.DataFrame(
    {"y_true": np.arange(N) % 2, "y_pred": np.arange(N) % 3 % 2, "sex": SEX}
)


@pytest.mark.parametrize(
    "every, words",
    [
        (20, "share strata of 60 of 1,200 rows"),
        (N * 2, "no two groups share a stratum"),
    ],
)
def test_strata_that_groups_do_not_share_are_told(every, words):
    site = np.where(np.arange(1, N + 1) % every == 0, "both", SEX)
    rows = ROWS.assign(site=site)
    counted = of_rows(rows, sensitive_features=["sex"], strata=["site"])
    assert words in " ".join(page.Audit(counted, draws=99).unsaid)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_folder_called_as_a_column_overwrites_nothing(name, tmp_path):
    path = tmp_path / "y_pred=1" / name
    path.parent.mkdir()
    getattr(ROWS, "to_csv" if name == "t.csv" else "to_parquet")(path, index=False)
    expected = of_rows(ROWS).table().frame()
    pd.testing.assert_frame_equal(tally.of_file(path).table().frame(), expected)


def test_folders_called_as_hive_does_are_columns_of_text(tmp_path):
    for site in ("01", "1"):
        (tmp_path / f"site={site}").mkdir()
        ROWS.to_parquet(tmp_path / f"site={site}/a.parquet", index=False)
        ROWS.to_csv(tmp_path / f"site={site}/a.csv", index=False)
    for form in ("parquet", "csv"):
        assert tally.of_file(tmp_path / f"*/*.{form}").sizes("site").to_dict() == {
            "01": N,
            "1": N,
        }


def test_labels_that_differ_in_capitals_are_not_counted_as_one():
    rows = ROWS.assign(y_true=np.array(list("AaBb"))[np.arange(N) % 4])
    rows["y_pred"] = (
        rows["y_true"].str.lower().where(rows["sex"] == "f", rows["y_true"])
    )
    with pytest.raises(
        ValueError, match="y_true holds 'A' and 'a', which may be one class or 2"
    ):
        of_rows(rows, positive="A")


def test_a_loop_is_known_by_what_it_names():
    def made(rate):
        def loop():
            return rate * 2

        return loop

    def calling(inner):
        return lambda: inner()

    assert source.digest(made(1)) == source.digest(made(1)) != source.digest(made(2))
    assert source.digest(calling(made(1))) != source.digest(calling(made(2)))


def test_a_group_called_as_a_complement_has_its_own_roc():
    by = ["smoker", "not smoker", "unknown"] * 20
    y = np.arange(60) // 3 % 2
    data = counts.table(
        by, y_true=y, y_score=np.where(np.arange(60) % 3 == 1, y, 1 - y)
    )
    assert curves.rocs(data)["not smoker"].tpr.tolist() == [0, 1, 1]


def test_what_is_prescribed_for_mixed_labels_is_accepted():
    words = ROWS["y_true"].map({0: "0", 1: "1"})
    some = np.arange(N) % 9 == 0
    with pytest.raises(
        ValueError, match="more than one way"
    ) as refused:  # yes would count as 0
        of_rows(ROWS.assign(y_true=words.where(~some, "yes")))
    assert "positive" not in str(refused.value)
    missing = ROWS.assign(y_true=words.where(~some, "-1"))
    with pytest.raises(ValueError, match="more than one way") as refused:
        of_rows(missing)
    answer = re.search(r"positive (\S+)$", str(refused.value))[1]
    assert len(of_rows(missing, positive=answer)) == N


def test_a_column_that_numbers_the_rows_of_a_small_table_is_no_group(tmp_path):
    ROWS[::60].to_csv(tmp_path / "t.csv")  # with pandas' index
    counted = tally.of_file(tmp_path / "t.csv")
    assert counted.sensitive_features == ["sex"]
    assert any(
        "column 1 (another value in every row)" in note for note in counted.notes
    )


@pytest.mark.parametrize("copy", ["t (1).csv", "t.csv.gz"])
def test_a_copy_of_a_file_is_not_counted_twice(copy, tmp_path):
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    ROWS.assign(y_pred=1 - ROWS["y_pred"]).to_csv(
        tmp_path / "u.csv", index=False
    )  # as large
    assert len(tally.of_file(tmp_path)) == 2 * N
    ROWS.to_csv(tmp_path / copy, index=False)
    with pytest.raises(
        ValueError, match=r"t.*csv and t.*csv.* are copies: their rows count twice"
    ):
        tally.of_file(tmp_path)


@pytest.mark.parametrize(
    "more",
    [{"include_top": True}, {"rescale_factor": 1 / 127.5}, {"do_rescale": False}],
)
def test_an_image_processor_that_does_more_than_normalise_is_refused(more):
    like = {"mean": [0.5] * 3, "std": [0.5] * 3}
    assert models.wrap(torch.nn.Linear(1, 1), like | {"rescale_factor": 1 / 255})
    with pytest.raises(ValueError, match="does more than"):
        models.wrap(torch.nn.Linear(1, 1), like | more)
