"""The roof: what knows every notebook. Loading its libraries takes seconds, so a bar shows it."""

from importlib import import_module

from helpers.store import progress

for name in progress(("pandas", "matplotlib.pyplot", "torch"), desc="loading", delay=1):
    import_module(name)
