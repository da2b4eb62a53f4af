"""The former place of Newcombe's interval, until its users import it from `helpers.stats`."""

from helpers.stats.proportions import newcombe, wilson_end  # noqa: F401
