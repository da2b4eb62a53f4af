"""Helpers of the suite: one module an idea; notebooks import from here."""
