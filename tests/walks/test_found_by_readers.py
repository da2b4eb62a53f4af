"""What readers found silently wrong."""

import numpy as np

from helpers.blocks import counts, curves


def test_a_group_called_as_a_complement_has_its_own_roc():
    """Scores of "not smoker" are right, and those of the two other groups are wrong."""
    group = ["smoker", "not smoker", "unknown"] * 20
    y_true = np.arange(60) // 3 % 2
    is_right = np.arange(60) % 3 == 1
    y_score = np.where(is_right, y_true, 1 - y_true)
    table = counts.table(group, y_true=y_true, y_score=y_score)
    assert curves.rocs(table)["not smoker"].tpr.tolist() == [0, 1, 1]
