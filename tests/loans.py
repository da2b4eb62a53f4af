"""Make the sample of lesson 13: loans, with what is planted in them.

python tests/loans.py data/audit"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

TRUTH = """injected,size
"women who repay are approved less often than men who repay (equal opportunity)",0.15
"men and women repay equally often",0
"the branch north approves fewer loans of both sexes, and 60% of the women but 40% of the men apply there",0.10
"nothing differs by age band",0
"the score is the same for men and women who repay: the gap is in the decision",0
"""


def loans(rows=4000, seed=0, planted=True) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    female = rng.random(rows) < 0.45
    north = rng.random(rows) < np.where(female, 0.6, 0.4)
    repaid = rng.random(rows) < 0.65
    score = np.clip(rng.normal(np.where(repaid, 0.62, 0.42), 0.14), 0.01, 0.99).round(2)
    approve = np.where(repaid, 0.85, 0.35) - planted * (
        0.1 * north + 0.15 * (female & repaid)
    )
    columns = {
        "application": np.arange(1, rows + 1),
        "sex": np.where(female, "female", "male"),
    }
    columns |= {
        "age": rng.choice(
            ["18-29", "30-44", "45-64", "65+"], rows, p=[0.3, 0.35, 0.25, 0.1]
        )
    }
    columns |= {"branch": np.where(north, "north", "south"), "score": score}
    columns |= {"decision": np.where(rng.random(rows) < approve, "approve", "deny")}
    return pd.DataFrame(columns | {"repaid": np.where(repaid, "yes", "no")})


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    loans().to_csv(folder / "loans.csv", index=False)
    (folder / "loans_truth.csv").write_text(TRUTH)
