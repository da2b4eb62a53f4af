"""Images of the embedded world drawn a second on one core, and a draw against one decoded JPEG.

Run: python tests/benchmarks/bench_world.py [rounds]
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import io
import statistics
import sys
import time

import numpy as np
from PIL import Image

from helpers.worlds import pictures


def seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    made = {name: lambda name=name: pictures.make(name, per_class=25) for name in pictures.SETS}
    made["contexts"] = lambda: pictures.contexts(25)
    files = []
    for image in pictures.make("C", per_class=25).images:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=92)
        files.append(file.getvalue())

    def decode():
        for file in files:
            np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))

    times = {name: [] for name in [*made, "decode"]}
    for _ in range(rounds):
        for name, work in made.items():
            times[name].append(seconds(work))
        times["decode"].append(seconds(decode))
    for name in made:
        middle = statistics.median(times[name])
        ratio = middle / statistics.median(times["decode"])
        print(
            f"world {name}: {100 / middle:.0f} images a second on one core "
            f"({10 * middle:.1f} ms an image at 96 px, {ratio:.0f} times decoding a JPEG of it)"
        )


if __name__ == "__main__":
    main()
