"""The audits of this suite, to be called from Python."""

from helpers.audit.model_audit import audit_model as model

__all__ = ["model"]
