"""Serve archives like the authors', of synthetic images, on this machine."""

import io
import zipfile
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from PIL import Image

from helpers.data import archives
from synthetic import pictures


class Handler(SimpleHTTPRequestHandler):
    """Note each request, and cut off the next download of each path in `server.cut`."""

    def do_GET(self):
        self.server.requests.append(self.path)
        super().do_GET()

    def copyfile(self, source, outputfile):
        content = source.read()
        if self.path in self.server.cut:
            self.server.cut.remove(self.path)
            content = content[: len(content) // 2]
        outputfile.write(content)

    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def serving(folder):
    """Serve the files of a folder, and yield the server with its `url`."""
    handler = partial(Handler, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.url = f"http://127.0.0.1:{server.server_port}/"
    server.requests = []
    server.cut = set()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def zipped(files):
    """Return the bytes of a zip archive of files by their names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def write_authors_archives(folder, per_class, size):
    """Write the three archives, with one folder per class, one of them in a folder."""
    for name, archive in archives.ARCHIVES.items():
        made = pictures.make(name, per_class=per_class, size=size, seed=1)
        top = "green objects/" if name == "NC" else ""
        files = {}
        rows = made.table.itertuples()
        for image, row in zip(made.images, rows, strict=True):
            buffer = io.BytesIO()
            Image.fromarray(image).save(buffer, "PNG")
            files[f"{top}{row.object}/{row.index:03d}.png"] = buffer.getvalue()
        (folder / archive).write_bytes(zipped(files))
