"""The authors' archives, served by a local HTTP server that can fail in the ways servers do."""

import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from PIL import Image

from helpers import data, store
from helpers.data import archives
from helpers.data.images import Images
from helpers.models import experiment
from synthetic import pictures


class Server:
    """Serves `files` on 127.0.0.1; `faults` holds what to do instead for the next requests."""

    def __init__(self):
        self.files, self.faults, self.requests = {}, [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                data = outer.files.get(self.path.lstrip("/"))
                fault = outer.faults.pop(0) if outer.faults else ""
                if data is None or fault == "error":
                    return self.send_error(404 if data is None else 503)
                if fault == "page":
                    data = b"<html>come back later</html>"
                if (
                    fault == "damaged"
                ):  # within the noise: the directory at the end is intact
                    data = (
                        data[: len(data) // 2] + b"damaged" + data[len(data) // 2 + 7 :]
                    )
                self.send_response(200)
                if fault != "cut without length":
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(
                    data[: len(data) // 2] if fault.startswith("cut") else data
                )
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server(monkeypatch, tmp_path):
    served = Server()
    monkeypatch.setattr(archives, "URL", served.url)
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    yield served
    served.http.shutdown()
    served.http.server_close()


def zipped(members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


NOISE = np.random.default_rng(0).bytes(50_000)


@pytest.fixture
def simple(server):
    server.files["a.zip"] = zipped(
        {"bench/1.txt": "one", "bench/noise": NOISE, "mug/1.txt": ""}
    )
    return server


def whole(folder):
    read = [(folder / name).read_bytes() for name in ("bench/1.txt", "bench/noise")]
    return read == [b"one", NOISE]


def test_four_at_once_download_once_and_unpack(simple, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        folders = pool.map(lambda _: archives.fetch("a.zip", tmp_path / "d"), range(4))
        [folder] = set(folders)
    assert whole(folder)
    assert archives.fetch("a.zip", tmp_path / "d") == folder
    assert simple.requests == ["/a.zip"]


@pytest.mark.parametrize(
    "fault", ["cut", "cut without length", "damaged", "error", "page"]
)
def test_what_is_not_whole_is_refused_and_downloaded_again(simple, tmp_path, fault):
    simple.faults = [fault]
    message = r"a\.zip did not come as a whole zip.*Run again"
    with pytest.raises(ConnectionError, match=message):
        archives.fetch("a.zip", tmp_path)
    assert whole(archives.fetch("a.zip", tmp_path))
    assert len(simple.requests) == 2


def test_members_land_inside_the_folder_whatever_their_names(server, tmp_path):
    link = zipfile.ZipInfo("bench/link")
    link.external_attr = 0o120777 << 16
    server.files["a.zip"] = zipped(
        {
            "bench/1.txt": "one",
            "mug/1.txt": "",
            "a/../../evil": "bad",
            link: "/etc/passwd",
        }
    )
    folder = archives.fetch("a.zip", tmp_path / "d")
    found = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and path.read_bytes() == b"bad"
    ]
    assert len(found) == 1 and found[0].is_relative_to(folder)
    assert not (folder / "bench" / "link").is_symlink()


# the whole source


def authors_archives(per_class=24, size=48):
    """The synthetic dataset in archives that hold one folder per class, one in a folder."""
    made = {}
    for name, archive in archives.ARCHIVES.items():
        top = "green objects/" if name == "NC" else ""
        members = {}
        images = pictures.make(name, per_class=per_class, size=size, seed=1)
        for image, row in zip(images.images, images.table.itertuples(), strict=True):
            data = io.BytesIO()
            Image.fromarray(image).save(data, "PNG")
            members[f"{top}{row.object}/{row.index:03d}.png"] = data.getvalue()
        made[archive] = zipped(members)
    return made


def test_the_authors_archives_are_read_as_class_folders(server):
    server.files.update(authors_archives())
    found = data.load(Images("visual-contexts", size=48))
    assert set(found.classes) == set(pictures.CLASSES)
    assert np.array_equal(found.summary().to_numpy(), np.tile((16, 4, 4, 24), (12, 1)))
    for name, images in found.sets.items():
        made = pictures.make(name, per_class=24, size=48, seed=1)
        for label in found.classes:
            expected = made.images[(made.table["object"] == label).to_numpy()]
            assert np.array_equal(images.of(label).images.permute(0, 2, 3, 1), expected)
    with pytest.raises(ValueError, match="needs context images, and there are none"):
        experiment.require_contexts(found)
