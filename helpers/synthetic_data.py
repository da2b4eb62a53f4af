"""Give the package access to the synthetic datasets.

No other module of the package imports `synthetic`.
"""

from synthetic import detector as street_detector
from synthetic import pictures, reduced, street

__all__ = ["pictures", "reduced", "street", "street_detector"]
