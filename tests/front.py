"""Write README's three findings and draw its picture: ``python tests/front.py``."""

import re
import shutil
import subprocess
import sys

from PIL import Image

from helpers import overview, store

README = store.root() / "README.md"
PICTURE = store.root() / "outputs" / "example.png"
FINDINGS = re.compile(r"(?<=<!-- findings -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def findings() -> str:
    """Return the three findings with links from README to the lessons."""
    return overview.three().data.replace("](", "](notebooks/")


def draw() -> None:
    """Draw the first page of the site of the stored lessons."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("The picture stays as it was: install Chromium to draw it again.")
        return
    subprocess.run([sys.executable, "-m", "helpers.site"], cwd=store.root(), check=True)
    page = store.outputs() / "stored" / "pages" / "00_start_here.html"
    command = [chromium, "--headless", "--no-sandbox", "--hide-scrollbars"]
    command += ["--window-size=1400,1400", f"--screenshot={PICTURE}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    with Image.open(PICTURE) as picture:
        picture.convert("P", palette=Image.Palette.ADAPTIVE).save(PICTURE)


if __name__ == "__main__":
    text = FINDINGS.sub(lambda match: findings(), README.read_text())
    store.write_text(README, text)
    draw()
