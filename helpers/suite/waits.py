"""How long a lesson lets its reader wait: whether what it trains is in the store already."""

import json
from pathlib import Path
from types import SimpleNamespace

import yaml

import helpers
from helpers import models, store
from helpers.suite import failures

HERE = "Its networks are here: nothing is trained anew."


def tell(settings: SimpleNamespace) -> None:
    """Print it on top of a lesson in JupyterLab, where somebody waits."""
    if sentence := wait(Path(failures.in_lab()).stem, settings):
        print(sentence)


def wait(lesson: str, settings: SimpleNamespace, slower: float = 1.0) -> str:
    """A sentence on the wait for a lesson, on a machine so many times slower; "" of no lesson."""
    takes = yaml.safe_load((store.root() / "data/seconds.yml").read_text()).get(lesson)
    if takes is None:
        return ""
    if _noted(lesson, settings).is_file():
        return HERE
    minutes = round(takes * slower / 60)
    length = "less than a minute" if minutes < 1 else f"about {minutes} minute{'s' * (minutes > 1)}"
    return f"Its first run takes {length} if nothing else runs; what it trains is then kept."


def note(lesson: str, settings: SimpleNamespace) -> None:
    """Note beside the networks that a lesson has all of its own."""
    store.write_text(_noted(lesson, settings), f"{lesson}\n")


def _noted(lesson: str, settings: SimpleNamespace) -> Path:
    """The file that is there once a lesson ran through, with these settings and this code."""
    given = {name: value for name, value in vars(settings).items() if name != "output"}
    text = json.dumps(given, default=vars, sort_keys=True)
    decides = {"code": models.TRAINING.digest(), "pinned": helpers.unpinned is None}
    return store.networks() / "lessons" / store.key("lesson", lesson=lesson, given=text, **decides)
