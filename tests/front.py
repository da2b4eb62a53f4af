"""What README shows of the stored lessons: ``python tests/front.py`` (``make picture``) writes its
findings and its sentence on seeds anew, and draws the first page of the pages into a picture."""

import re
import shutil
import subprocess
import sys

import yaml
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from helpers import store
from helpers.suite import notebooks, pages, words
from sweeps import seeds

README, PICTURE = store.root() / "README.md", store.root() / "outputs/example.png"
SIZE = (1400, 1000)


def sentence() -> str:
    """What the verdicts of all recorded seeds say together."""
    lessons = [*seeds.read(seeds.SEEDS)["lesson"].unique()]
    every = seeds.summary(seeds.verdicts(lessons, seeds.RECORDED)).loc["all"].to_dict()
    return (
        "Of {verdicts} verdicts of {0} lessons, {same in all} come out the same in all {1} "
        "recorded seeds, {differ} differ in at least one of them, and {2} turned over from right "
        "to wrong."
    ).format(
        len(lessons), len(seeds.RECORDED), every["turned over"] or "none is", **every
    )


def blocks() -> dict[str, str]:
    """What stands between README's marks, by their names."""
    three = re.sub(r"\]\((\w+\.ipynb)\)", r"](notebooks/\1)", notebooks.three().data)
    return {"findings": three, "seeds": sentence()}


def readme(text: str) -> str:
    """README with the blocks of today."""
    for name, block in blocks().items():
        mark = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        text, times = re.subn(
            mark, lambda of, block=block: of[1] + block + of[2], text, flags=re.S
        )
        assert times == 1, f"README.md has {times} marks <!-- {name} -->"
    return text


def age() -> str:
    """Digest of what the picture shows: the first page's texts, verdicts, figure and style."""
    lessons = notebooks.lessons()
    start = {"name": "00", "title": "00 ", "pictures": {}}
    page = pages.first(notebooks.findings(lessons), [start], {})
    figure = yaml.safe_load((words.BOOK / "front.yml").read_text())["picture"]
    [path] = [one for one in lessons if one.stem == figure["lesson"]]
    png, _ = notebooks.pictures(notebooks.read(path))[figure["figure"]]
    styles = [
        path.read_text() for path in sorted((words.BOOK / "static").glob("*.css"))
    ]
    return store.key("picture", page=page, png=png, styles=styles, size=SIZE)


def draw() -> None:
    """The first page of the stored lessons, by a browser without a window."""
    if not (chromium := shutil.which("chromium") or shutil.which("chromium-browser")):
        return print(
            "the picture is left as it is: there is no chromium (Debian's package) here"
        )
    subprocess.run(["make", "pages"], cwd=store.root(), check=True)
    page = store.outputs() / "stored/pages/index.html"
    shot = store.outputs() / "stored/shot.png"
    size = f"--window-size={SIZE[0]},{SIZE[1]}"
    how = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", size]
    wait = "--virtual-time-budget=5000"
    told = [chromium, *how, wait, f"--screenshot={shot}", page.as_uri()]
    subprocess.run(told, check=True, capture_output=True)
    about = PngInfo()
    about.add_text("made of", age())
    with Image.open(shot) as image:
        image.convert("P", palette=Image.Palette.ADAPTIVE).save(
            PICTURE, pnginfo=about, optimize=True
        )


if __name__ == "__main__":
    store.write_text(README, readme(README.read_text()))
    if "--text" not in sys.argv:
        draw()
