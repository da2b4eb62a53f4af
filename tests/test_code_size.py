"""Keep the code small and plain: totals and densities may fall, but not rise."""

import pandas as pd
import pytest
from code_size import EXEMPT, MOST_TOKENS_PER_LINE, TOTALS, count, measure, style_errors


@pytest.fixture(scope="module")
def files() -> pd.DataFrame:
    table = measure()
    density = table["tokens"] / table["lines"].clip(lower=1)
    return table.assign(density=density.round(2)).set_index("path")


@pytest.fixture(scope="module")
def exempt() -> pd.Series:
    return pd.read_csv(EXEMPT, index_col="path")["tokens_per_line"]


def test_tokens_are_counted_without_comments_and_docstrings():
    source = (
        '"""Say hello."""\n\n# a comment\nname = f"{first} {last}"\nprint(\n    name)\n'
    )
    # name = f"..." and its two expressions, print ( name )
    assert count(source) == (9, 3)


def test_no_part_of_the_code_grows(files):
    limits = pd.read_csv(TOTALS, index_col="group")["tokens"]
    totals = files.groupby("group")["tokens"].sum()
    grown = totals[totals > limits.reindex(totals.index, fill_value=0)]
    assert grown.empty, (
        f"more tokens than in tests/limits/tokens.csv: {grown.to_dict()}. "
        "Take something out, or say in the commit why the limit must rise."
    )


def test_rewritten_files_are_plain(files, exempt):
    rewritten = files[~files.index.isin(exempt.index) & (files["group"] != "synthetic")]
    dense = rewritten.loc[rewritten["density"] > MOST_TOKENS_PER_LINE, "density"]
    assert dense.empty, (
        f"more than {MOST_TOKENS_PER_LINE} tokens per line: {dense.to_dict()}"
    )


def test_rewritten_files_keep_the_rules_of_style(exempt):
    errors = {name: n for name, n in style_errors().items() if name not in exempt.index}
    assert not errors, f"ruff check --select E501,D finds something in: {errors}"


def test_files_that_wait_for_their_rewriting_get_no_denser(files, exempt):
    listed = files.reindex(exempt.index)
    missing = list(listed.index[listed["density"].isna()])
    assert not missing, (
        f"these files are gone; run `python tests/code_size.py --lower`: {missing}"
    )
    denser = listed.loc[listed["density"] > exempt + 0.01, "density"]
    assert denser.empty, (
        f"denser than in tests/limits/not_rewritten_yet.csv: {denser.to_dict()}"
    )
