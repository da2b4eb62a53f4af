"""Audits of what readers bring: their form, which they share, and the command that runs them."""
