"""Audit a table, a detector or a network from Python."""

from helpers.audit.detector_audit import audit_detector as detector
from helpers.audit.model_audit import audit_model as model
from helpers.audit.table import table

__all__ = ["detector", "model", "table"]
