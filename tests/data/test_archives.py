"""The authors' archives, served by a local HTTP server."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from archive_server import serving, write_authors_archives, zipped

from helpers import data, store
from helpers.data import archives
from helpers.data.images import Images
from helpers.models import experiment
from synthetic import pictures

NOISE = np.random.default_rng(0).bytes(50_000)
FILES = {"bench/1.txt": b"one", "bench/noise": NOISE, "mug/1.txt": b""}


@pytest.fixture
def served(tmp_path):
    """Return the folder whose files the server serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def server(served, monkeypatch, tmp_path):
    """Return a server on this machine that takes the place of the authors'."""
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    with serving(served) as server:
        monkeypatch.setattr(archives, "URL", server.url)
        yield server


def is_whole(folder):
    return all((folder / name).read_bytes() == FILES[name] for name in FILES)


def test_four_at_once_download_and_unpack_once(served, server):
    (served / "a.zip").write_bytes(zipped(FILES))
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: archives.fetch("a.zip"), range(4))
    [folder] = set(found)
    assert is_whole(folder)
    assert archives.fetch("a.zip") == folder
    assert server.requests == ["/a.zip"]


@pytest.mark.parametrize("fault", ["cut off", "half", "damaged", "page", "missing"])
def test_what_is_not_whole_is_refused_and_downloaded_again(served, server, fault):
    archive = zipped(FILES)
    middle = len(archive) // 2
    wrong = {
        "cut off": archive,
        "half": archive[:middle],
        "damaged": archive[:middle] + b"damaged" + archive[middle + 7 :],
        "page": b"<html>come back later</html>",
    }
    if fault in wrong:
        (served / "a.zip").write_bytes(wrong[fault])
    if fault == "cut off":
        server.cut.add("/a.zip")
    message = r"a\.zip could not be downloaded and unpacked.*Run again"
    with pytest.raises(OSError, match=message):
        archives.fetch("a.zip")
    (served / "a.zip").write_bytes(archive)
    assert is_whole(archives.fetch("a.zip"))


def test_the_authors_archives_are_read_as_class_folders(served):
    write_authors_archives(served, per_class=24, size=48)
    found = data.load(Images("visual-contexts", size=48))
    assert set(found.classes) == set(pictures.CLASSES)
    for numbers in found.summary().to_numpy().tolist():
        assert numbers == [16, 4, 4, 24]
    for name, image_set in found.sets.items():
        made = pictures.make(name, per_class=24, size=48, seed=1)
        for label in found.classes:
            of_class = (made.table["object"] == label).to_numpy()
            images = image_set.of(label).images.permute(0, 2, 3, 1)
            assert np.array_equal(images, made.images[of_class])
    with pytest.raises(ValueError, match="needs background images, and there are none"):
        experiment.require_contexts(found)
