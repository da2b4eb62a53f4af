"""The synthetic datasets, for the rest of the package. No other module imports `synthetic`."""

from synthetic import detector as street_detector
from synthetic import pictures, street

__all__ = ["pictures", "street", "street_detector"]
