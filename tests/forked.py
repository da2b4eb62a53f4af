"""Kernels for notebooks that tests run: forks of one process that has loaded the libraries.

A kernel has nothing of the suite before its cells run, but torch, pandas and matplotlib are loaded:
seconds of each lesson. Where that process is not there, or not ready, a kernel starts as elsewhere.
"""

import builtins
import contextlib
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
from types import SimpleNamespace

PLACE = "SUITE_TESTS_KERNELS"  # where its socket is
LIBRARIES = "ipykernel.kernelapp", "captum.attr", "duckdb", "matplotlib.pyplot", "scipy.stats"
LIBRARIES += "pandas", "seaborn", "torchvision", "torch._dynamo"  # which optimizers load


def begin(folder, *when):
    """Start that process; Jupyter asks it for kernels in all that this process starts. What ends
    it. The libraries are loaded "now", or when the first kernel is asked for."""
    import subprocess

    spec = {"argv": [sys.executable, "-I", "-S", __file__, "-f", "{connection_file}"]}
    spec |= {"display_name": "Python 3 (ipykernel)", "language": "python"}
    (folder / "kernels/python3").mkdir(parents=True)
    (folder / "kernels/python3/kernel.json").write_text(json.dumps(spec))
    paths = [str(folder), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    os.environ |= {"JUPYTER_PATH": os.pathsep.join(paths), PLACE: str(folder / "socket")}
    # read when matplotlib and tqdm are loaded; kernels of tests show no progress
    environment = os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    environment["TQDM_DISABLE"] = "1"
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, __file__, "serve", *when]
    quiet = {"stdin": subprocess.PIPE, "start_new_session": True}  # Ctrl-C is for who asked
    process = subprocess.Popen(command, env=environment, **quiet)
    return lambda: [process.terminate(), process.wait()]


def serve(*when):
    """Fork a kernel for each that asks, until the process that began this is no more. Those that
    come before the libraries are loaded start as elsewhere: Jupyter waits a minute for a kernel."""
    del sys.path[0]  # a kernel finds nothing in the folder of this file
    signal.signal(signal.SIGCHLD, ended)
    if not when:
        first = next(asked(), None) or os._exit(0)
        first[0].close()
    load()
    for asks, server in asked():
        if not os.fork():
            server.close()
            become(asks)
        asks.close()
    os._exit(0)


def asked():
    """Who asks, one after the other, and where."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.environ[PLACE])  # noqa: PTH108
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.environ[PLACE])
        server.listen()
        while server in select.select([server, sys.stdin], [], [])[0]:
            yield server.accept()[0], server


def load():
    """The libraries, which see that they are in a kernel: pandas shows wider tables there."""
    builtins.get_ipython = lambda: SimpleNamespace(kernel=True)
    for name in LIBRARIES:
        importlib.import_module(name)
    del builtins.get_ipython


def ended(*_):
    """Kernels that have ended, whose seconds count for this process."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def become(asks):
    """The kernel that was asked for, with the words, folder and environment of who asks."""
    text, streams, _, _ = socket.recv_fds(asks, 1 << 20, 3)
    words, folder, environment = json.loads(text)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    asks.send(str(os.getpid()).encode())
    threading.Thread(target=lambda: [asks.recv(1), os._exit(1)], daemon=True).start()
    sys.path[:0] = [one for one in environment.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.argv = ["ipykernel_launcher", *words, f"--IPKernelApp.parent_handle={os.getppid()}"]
    try:
        sys.modules["ipykernel.kernelapp"].launch_new_instance()
    finally:
        os._exit(0)


def ask():
    """Stand for a kernel: hand on interruptions, and end with it."""
    asks = socket.socket(socket.AF_UNIX)
    text = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109
    try:
        asks.connect(os.environ[PLACE])
        socket.send_fds(asks, [text], [0, 1, 2])
        kernel = int(asks.recv(20))
    except (KeyError, OSError, ValueError):
        os.execv(sys.executable, [sys.executable, "-m", "ipykernel_launcher", *sys.argv[1:]])
    signal.signal(signal.SIGINT, lambda *_: os.kill(kernel, signal.SIGINT))
    while asks.recv(1):
        pass


if __name__ == "__main__":
    serve(*sys.argv[2:]) if sys.argv[1:2] == ["serve"] else ask()
