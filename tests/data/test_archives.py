"""The authors' archives, served by a local HTTP server."""

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from PIL import Image

from helpers import data, store
from helpers.data import archives
from helpers.data.images import Images
from helpers.models import experiment
from synthetic import pictures

NOISE = np.random.default_rng(0).bytes(50_000)
FILES = {"bench/1.txt": b"one", "bench/noise": NOISE, "mug/1.txt": b""}


@pytest.fixture
def served(monkeypatch, tmp_path):
    """Return a folder whose files a server on this machine serves as the authors'."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    monkeypatch.setattr(archives, "URL", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    Thread(target=server.serve_forever, daemon=True).start()
    yield folder
    server.shutdown()
    server.server_close()


def zipped(files):
    """Return the bytes of a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def is_whole(folder):
    return all((folder / name).read_bytes() == FILES[name] for name in FILES)


def test_four_processes_at_once_download_and_unpack_once(served, tmp_path):
    (served / "a.zip").write_bytes(zipped(FILES))
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: archives.fetch("a.zip", tmp_path), range(4))
    [folder] = set(found)
    assert is_whole(folder)
    (served / "a.zip").unlink()
    assert archives.fetch("a.zip", tmp_path) == folder


@pytest.mark.parametrize("fault", ["cut", "damaged", "page", "missing"])
def test_what_is_not_whole_is_refused_and_downloaded_again(served, tmp_path, fault):
    archive = zipped(FILES)
    middle = len(archive) // 2
    wrong = {
        "cut": archive[:middle],
        "damaged": archive[:middle] + b"damaged" + archive[middle + 7 :],
        "page": b"<html>come back later</html>",
    }
    if fault in wrong:
        (served / "a.zip").write_bytes(wrong[fault])
    message = r"a\.zip did not come as a whole zip.*Run again"
    with pytest.raises(ConnectionError, match=message):
        archives.fetch("a.zip", tmp_path)
    (served / "a.zip").write_bytes(archive)
    assert is_whole(archives.fetch("a.zip", tmp_path))


def test_files_land_inside_the_folder_whatever_their_names(served, tmp_path):
    files = {"bench/1.txt": b"", "a/../../evil": b"bad"}
    (served / "a.zip").write_bytes(zipped(files))
    folder = archives.fetch("a.zip", tmp_path / "downloads")
    [evil] = tmp_path.rglob("evil")
    assert evil.is_relative_to(folder)


def as_png(image):
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def test_the_authors_archives_are_read_as_class_folders(served):
    made = {}
    for name, archive in archives.ARCHIVES.items():
        made[name] = pictures.make(name, per_class=24, size=48, seed=1)
        top = "green objects/" if name == "NC" else ""  # one is in a folder
        files = {}
        rows = made[name].table.itertuples()
        for image, row in zip(made[name].images, rows, strict=True):
            files[f"{top}{row.object}/{row.index:03d}.png"] = as_png(image)
        (served / archive).write_bytes(zipped(files))
    found = data.load(Images("visual-contexts", size=48))
    assert set(found.classes) == set(pictures.CLASSES)
    for numbers in found.summary().to_numpy().tolist():
        assert numbers == [16, 4, 4, 24]
    for name, image_set in found.sets.items():
        for label in found.classes:
            of_class = (made[name].table["object"] == label).to_numpy()
            images = image_set.of(label).images.permute(0, 2, 3, 1)
            assert np.array_equal(images, made[name].images[of_class])
    with pytest.raises(ValueError, match="needs context images, and there are none"):
        experiment.require_contexts(found)
