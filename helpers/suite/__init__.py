"""The roof: what knows every notebook. Imported by notebooks, workflows and sweeps only."""

from importlib import import_module

from helpers.store import progress

# the first seconds of a notebook, in which nothing else is seen
for name in progress(("pandas", "matplotlib.pyplot", "torch"), desc="loading", delay=1):
    import_module(name)
