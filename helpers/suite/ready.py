"""Whether this machine is ready for a class: ``make check``, in less than a minute."""

import json
import os
import shutil
import sys
import time
import warnings
from collections.abc import Iterator

import helpers
from helpers import store
from helpers.models import probe
from helpers.suite import notebooks, parameters, project

MEMORY, DISK = 7.5, 2.0  # gigabytes that a seat needs
#: Lessons that keep no network of their own: they have none, train it again each time, or take that
#: of lesson 08.
KEEP_NOTHING = {"01", "09", "09b", "10", "11", "11b", "11c", "12", "13"}
TRAINED, SECONDS = "alexnet-quarter", 0.06  # a probe, and its time where data/seconds.yml is from
OTHER = "a training ended with another digest; to install the locked libraries, delete .venv"


def numbers() -> tuple[bool, str, float]:
    """Whether a training has the expected digest, and how many times slower it is here."""
    digests, seconds = json.loads((store.root() / "data/kernel_digests.json").read_text()), []
    for _ in range(5):  # the first is slower
        start = time.process_time()
        model, history, _ = probe.trained(TRAINED)
        seconds.append(time.process_time() - start)
    digest = store.key("digest", result=[model.state_dict(), history]).removeprefix("digest-")
    why = helpers.unpinned or (OTHER if digest[:12] != digests[f"training {TRAINED}"] else "")
    told = f"Lessons run, but some numbers are not those of the text: {why}."
    right = "The numbers are the suite's own: a training ended with the expected digest."
    return not why, told if why else right, min(seconds) / SECONDS


def machine() -> Iterator[tuple[bool, str]]:
    """Memory and disk: whether each will do, and a sentence."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    yield whole >= MEMORY, f"{whole:.0f} GB of memory; a seat needs 8 GB."
    store.outputs().mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(store.outputs()).free / 1e9
    yield free >= DISK, f"{free:.1f} GB are free on the disk; a class needs {DISK:.0f} GB."


def lessons(slower: float) -> list[str]:
    """Which lessons train first, on a machine so many times slower."""
    waiting = []
    for path in notebooks.lessons():
        if path.stem.split("_")[0] in KEEP_NOTHING:
            continue
        settings = parameters.accepted(parameters.defaults(path), {})
        if (sentence := project.wait(path.stem, settings, slower)) != project.HERE:
            waiting.append(f"    {path.stem}: {sentence}")
    head = f"    {len(waiting)} lessons train first. `make run` trains for all of them at once:"
    return [head, *waiting] if waiting else ["ok  The networks of all lessons are here."]


def main() -> None:
    """Print what there is, what each lesson makes its reader wait for, and what is to be done."""
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["networks"]:  # `make networks`: which lessons they serve
        return print(*lessons(1.0), sep="\n")
    *own, slower = numbers()
    checks = [own, *machine()]
    for fine, sentence in checks:
        print(f"{'ok  ' if fine else 'NO  '}{sentence}")
    print(*lessons(max(1.0, slower)), sep="\n")
    wrong = [sentence for fine, sentence in checks if not fine]
    print("\nTo do:\n" + "\n".join(wrong) if wrong else "\nready for the class")


if __name__ == "__main__":
    main()
