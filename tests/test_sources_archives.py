"""The authors' archives, served by a local HTTP server that can fail in the ways servers do."""

import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from helpers import data, store
from helpers.data import archives, published
from helpers.data.images import Images
from helpers.focus import mosaics
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


def unpacked(members, folder):
    zipfile.ZipFile(io.BytesIO(zipped(members))).extractall(folder)


NOISE = np.random.default_rng(0).bytes(50_000)


@pytest.fixture
def simple(server):
    server.files["a.zip"] = zipped({"bench/1.txt": "one", "bench/noise": NOISE})
    return server


def whole(folder):
    read = [(folder / name).read_bytes() for name in ("bench/1.txt", "bench/noise")]
    return read == [b"one", NOISE]


def test_four_at_once_download_once_and_unpack(simple, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        [folder] = set(
            pool.map(lambda _: archives.fetch("a.zip", tmp_path / "d"), range(4))
        )
    assert whole(folder)
    assert archives.fetch("a.zip", tmp_path / "d") == folder and simple.requests == [
        "/a.zip"
    ]
    left = sorted(
        p.name for p in (tmp_path / "d").iterdir() if not p.name.startswith(".")
    )
    assert left == ["a"]


@pytest.mark.parametrize(
    "fault", ["cut", "cut without length", "damaged", "error", "page"]
)
def test_what_is_not_whole_is_refused_and_never_kept(simple, tmp_path, fault):
    simple.faults = [fault]
    with pytest.raises(
        ConnectionError, match=r"a\.zip did not come as a whole zip.*run again"
    ):
        archives.fetch("a.zip", tmp_path)
    assert [p for p in tmp_path.iterdir() if p.suffix != ".lock"] == []
    assert whole(archives.fetch("a.zip", tmp_path)) and len(simple.requests) == 2


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/evil", "..\\evil", "//x/e"]
)
def test_members_land_inside_the_folder_whatever_their_names(server, tmp_path, name):
    link = zipfile.ZipInfo("bench/link")
    link.external_attr = 0o120777 << 16
    server.files["a.zip"] = zipped(
        {"bench/1.txt": "one", name: "bad", link: "/etc/passwd"}
    )
    folder = archives.fetch("a.zip", tmp_path / "d")
    found = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and path.read_bytes() == b"bad"
    ]
    assert len(found) == 1 and found[0].is_relative_to(folder)
    assert not (folder / "bench" / "link").is_symlink()


# --- the whole source ---------------------------------------------------------------------------

SPELLINGS = {
    "C": ("green objects/context", ["Bench", "fire_hydrant", "plane", "mug"]),
    "NC": ("", ["benches", "hydrant", "airplane", "mugs"]),
    "WB": ("x/y/z", ["BENCH", "Fire Hydrant", "planes", "green-mug"]),
}
NAMES = {"C": "context.zip", "NC": "no_context.zip", "WB": "white_background.zip"}


def authors_archives(per_class=24, size=48):
    """The world in the shape of the authors' archives, each with another inner layout."""
    made = {}
    for name, (top, spelled) in SPELLINGS.items():
        members = {
            f"__MACOSX/{top}/{spelled[0]}/._000.png": b"junk",
            f"{top}/read me.txt".lstrip("/"): b"hello",
        }
        images = pictures.make(name, per_class=per_class, size=size, seed=1)
        for image, row in zip(images.images, images.table.itertuples(), strict=True):
            data = io.BytesIO()
            Image.fromarray(image).save(data, "PNG")
            label = spelled[pictures.CLASSES.index(row.object)]
            members[f"{top}/{label}/{row.index:03d}.png".lstrip("/")] = data.getvalue()
        made[NAMES[name]] = zipped(members)
    return made


def archived(**more):
    return data.load(Images("visual-contexts", size=48, **more))


def test_the_authors_archives(server, tmp_path):
    server.files.update(authors_archives())
    found = archived()
    assert set(found.classes) == set(pictures.CLASSES) and set(found.sets) == {
        "C",
        "NC",
        "WB",
    }
    assert np.array_equal(found.summary().to_numpy(), np.tile((16, 4, 4, 24), (12, 1)))
    for name, images in found.sets.items():
        made = pictures.make(name, per_class=24, size=48, seed=1)
        for label in found.classes:
            expected = made.images[(made.table["object"] == label).to_numpy()]
            assert np.array_equal(images.of(label).images.permute(0, 2, 3, 1), expected)
    tables = [
        found.sets[name].table.sort_values(["class", "name"]) for name in ("C", "WB")
    ]
    assert list(tables[0]["split"]) == list(tables[1]["split"])
    assert set(found.contexts) == set(found.classes)
    assert found.context_of == pictures.CONTEXT_OF
    assert any("cut from C" in said for said in found.report)


def test_an_archive_without_a_class_is_a_clear_error(server, tmp_path):
    server.files.update(authors_archives())
    server.files["context.zip"] = zipped(
        {"stuff/bench/1.png": b"", "stuff/cow/1.png": b""}
    )
    with pytest.raises(
        ValueError, match=r"context.zip: no images of fire hydrant, mug, .*cow"
    ):
        archived()


def test_without_white_there_are_no_contexts_and_a_lesson_ends_in_a_sentence(server):
    """Where WB's objects are not C's, nothing tells where they are."""
    server.files.update(authors_archives())
    server.files["white_background.zip"] = server.files["no_context.zip"]
    found = archived()
    assert found.contexts == {} and found.sets["C"].masks is None
    for told in (
        "are not C's with a white ground",
        "none can be cut from C without its images",
    ):
        assert any(told in sentence for sentence in found.report)
    with pytest.raises(ValueError, match="needs context images, and there are none"):
        experiment.require_contexts(found)


def mosaics_of_focus(
    per_target=6, side=32, images=9, classes="01", name="catsdogs", **change
):
    """What is in an archive of the authors', with mosaics of two images of their target and two
    others, as their `multiclass_mosaic_creation` makes them; and the images by their names."""
    rng, members, rows = np.random.default_rng(3), {}, []
    names = {label: [f"{label}_{i}.jpg" for i in range(images)] for label in classes}
    pixels = rng.integers(
        0, 256, (len(classes) * images, side, side, 3), dtype=np.uint8
    )
    every = [one for several in names.values() for one in several]
    single = dict(zip(every, pixels, strict=True))
    for target in np.repeat([*classes], per_target):
        own, number = names[target], len(rows)
        others = [one for one in single if one not in own]
        four = [own[(2 * number + i) % images] for i in (0, 1)]
        four = rng.permutation([*four, *rng.choice(others, 2, replace=False)])
        whole = np.vstack(
            [np.hstack([single[one] for one in four[i : i + 2]]) for i in (0, 2)]
        )
        Image.fromarray(whole).save(file := io.BytesIO(), "PNG")
        members[f"{name}_mosaic/data/{number}.png"] = file.getvalue()
        row = {"filename": f"{number}.png"} | {
            f"filename_{c}": four[c] for c in range(4)
        }
        row |= {f"label_{c}": four[c].split("_")[0] for c in range(4)}
        rows.append(row | {"target_class": target} | change)
    index = pd.DataFrame(rows).to_csv(index=False)
    return members | {f"{name}_mosaic/{name.removesuffix('2012')}.csv": index}, single


def read_mosaics(**more):
    return data.load(Images("focus", archives=["catsdogs"], size=32, **more))


def test_published_mosaics_are_rebuilt_pixel_by_pixel(server, monkeypatch):
    members, single = mosaics_of_focus()
    monkeypatch.setattr(published, "URL", server.url)
    server.files["catsdogs_mosaic.zip"] = zipped(members)
    found = read_mosaics()
    images, design = found.sets["catsdogs"], found.mosaics["catsdogs"]
    assert (
        images.classes == ("0", "1") and list(design["target"]) == ["0"] * 6 + ["1"] * 6
    )
    assert images.table["name"].is_unique, "an image in several mosaics is there once"
    for image, name in zip(images.images, images.table["name"], strict=True):
        assert np.array_equal(image.permute(1, 2, 0), single[name])
    for number, mosaic in enumerate(
        torch.cat(list(mosaics.batches(design, images.images)))
    ):
        data_of = members[f"catsdogs_mosaic/data/{number}.png"]
        assert np.array_equal(
            mosaic.permute(1, 2, 0), np.asarray(Image.open(io.BytesIO(data_of)))
        )
    shown = np.array(images.table["class"])[design[mosaics.IMAGES]]
    assert np.array_equal(
        design[mosaics.TARGETS], shown == design[["target"]].to_numpy()
    )
    assert len(read_mosaics(per_class=3).mosaics["catsdogs"]) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, r"needs one index \(CSV\) and has 0"),
        (
            {"target_class": "7"},
            "12 mosaics .* do not show two images of their target: 0.png, 1",
        ),
        (
            {"filename": "x.png"},
            "12 mosaics of the index are not in the folder, .*: x.png",
        ),
    ],
)
def test_mosaics_that_their_index_does_not_fit_are_refused(tmp_path, change, message):
    members, _ = mosaics_of_focus(**change)
    unpacked(
        {k: v for k, v in members.items() if change or not k.endswith("csv")}, tmp_path
    )
    with pytest.raises(ValueError, match=message):
        data.load(Images("focus", folder=str(tmp_path), size=32))


def test_a_mosaic_of_another_shape_is_named_and_left_out(tmp_path):
    unpacked(mosaics_of_focus(per_target=20)[0], tmp_path)
    Image.new("RGB", (64, 40)).save(tmp_path / "catsdogs_mosaic/data/5.png")
    found = data.load(Images("focus", folder=str(tmp_path), size=32))
    assert any("5.png (64 x 40 pixels cannot be cut" in said for said in found.report)
    assert len(found.mosaics[tmp_path.name]) == 39
