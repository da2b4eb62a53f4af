"""Audits of what you provide, as plain functions."""

from helpers.audit.table import table

__all__ = ["table"]
