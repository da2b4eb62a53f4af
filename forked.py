"""Kernels, papermill and the book, of a run and of tests, as forks of one process that has loaded
the libraries: torch, pandas and matplotlib take seconds of each lesson.

A fork has nothing of the suite when it begins. Where that process is not there, or not ready, what
is asked for starts as elsewhere.

    python forked.py -m papermill a.ipynb b.ipynb       asks for one, with Python's own words
"""

import atexit
import builtins
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from types import SimpleNamespace

PLACE = "SUITE_FORKS"  # where its socket is
PREFIX = "forks-"  # of its folder
KERNEL = "ipykernel_launcher"
ASK = [sys.executable, "-I", "-S", __file__, "-m"]
LIBRARIES = (
    "ipykernel.kernelapp",
    "captum.attr",
    "duckdb",
    "matplotlib.pyplot",
    "scipy.stats",
)
LIBRARIES += (
    "pandas",
    "seaborn",
    "torchvision",
    "torch._dynamo",
)  # which optimizers load
LIBRARIES += ("papermill.cli",)


def begin(when="asked"):
    """Start that process on Linux; Jupyter asks it for kernels in all that this process starts.
    What ends it. It loads the libraries "now", or "later", with the first that asks, and what comes
    before starts as elsewhere; or that one waits, when it is "asked"."""
    if (
        sys.platform != "linux" or PLACE in os.environ
    ):  # a worker of a test, a run in a test
        return lambda: None
    import subprocess
    import tempfile
    from pathlib import Path

    temporary = tempfile.TemporaryDirectory(prefix=PREFIX)
    folder = Path(temporary.name)
    spec = {"argv": [*ASK, KERNEL, "-f", "{connection_file}"]}
    spec |= {"display_name": "Python 3 (ipykernel)", "language": "python"}
    (folder / "kernels/python3").mkdir(parents=True)
    (folder / "kernels/python3/kernel.json").write_text(json.dumps(spec))
    paths = [str(folder), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    os.environ |= {
        "JUPYTER_PATH": os.pathsep.join(paths),
        PLACE: str(folder / "socket"),
    }
    # read when matplotlib and tqdm are loaded; kernels of runs and tests show no progress
    environment = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    threads = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    )  # as Snakemake's jobs
    environment |= dict.fromkeys(threads, "1") | os.environ
    environment["TQDM_DISABLE"] = "1"
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, __file__, "serve", when]
    quiet = {
        "stdin": subprocess.PIPE,
        "start_new_session": True,
    }  # Ctrl-C is for who asked
    process = subprocess.Popen(command, env=environment, **quiet)
    while (
        when == "asked" and process.poll() is None and not (folder / "socket").exists()
    ):
        time.sleep(0.01)
    end = atexit.register(
        lambda: [process.terminate(), process.wait(), temporary.cleanup()]
    )
    return end


def serve(when):
    """Fork for each that asks, until the process that began this is no more."""
    import shutil
    import warnings

    del sys.path[0]  # a fork finds nothing in the folder of this file
    signal.signal(signal.SIGCHLD, ended)
    if when == "later":  # Jupyter waits a minute for a kernel
        first = next(asked(), None) or os._exit(0)
        first[0].close()
    if when != "asked":
        load()
    for asks, server in asked():
        load()
        with warnings.catch_warnings(
            action="ignore"
        ):  # of Arrow's thread, which expects it
            fork = os.fork()
        if not fork:
            server.close()
            become(asks)
        asks.close()
    if os.path.basename(folder := os.path.dirname(os.environ[PLACE])).startswith(  # noqa: PTH119, PTH120
        PREFIX
    ):
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def asked():
    """Who asks, one after the other, and where."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.environ[PLACE])  # noqa: PTH108
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(os.environ[PLACE])
        except (
            OSError
        ):  # a long TMPDIR, or one without sockets: all starts as elsewhere
            os._exit(0)
        server.listen()
        while server in select.select([server, sys.stdin], [], [])[0]:
            yield server.accept()[0], server


def load():
    """The libraries, once; they see that they are in a kernel: pandas shows wider tables there."""
    if LIBRARIES[-1] in sys.modules:
        return
    builtins.get_ipython = lambda: SimpleNamespace(kernel=True)
    for name in LIBRARIES:
        importlib.import_module(name)
    del builtins.get_ipython
    gc.collect()
    gc.freeze()  # no fork looks for garbage there


def ended(*_):
    """Forks that have ended, whose seconds count for this process."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def become(asks):
    """What was asked for, with the words, folder and environment of who asks, who hears how it
    ended. It ends with who asks."""
    import runpy
    import threading

    _, streams, _, _ = socket.recv_fds(asks, 1, 3)
    [module, *words], folder, environment = json.loads(asks.makefile().readline())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    atexit._clear()  # what the libraries' process does at its end is not this one's
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if (
        module == KERNEL
    ):  # has the environment that it has elsewhere, and ends with that process
        forks = f"{os.path.dirname(environment.pop(PLACE))}{os.pathsep}"  # noqa: PTH120
        paths = f"{environment.pop('JUPYTER_PATH', '')}{os.pathsep}".replace(
            forks, "", 1
        )
        environment |= {"JUPYTER_PATH": paths[:-1]} if paths else {}
        words.append(f"--IPKernelApp.parent_handle={os.getppid()}")
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    asks.send(b"%d\n" % os.getpid())
    threading.Thread(target=lambda: [asks.recv(1), os._exit(1)], daemon=True).start()
    first = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [folder, *filter(None, first)]  # as with Python's -m
    sys.argv[1:] = words
    status = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code or 0
        if not isinstance(status, int):
            status = print(end.code, file=sys.stderr) or 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError):  # who asked may be gone
            atexit._run_exitfuncs()
            sys.__stdout__.flush()
            asks.send(bytes([status & 255]))
        os._exit(status & 255)


def ask():
    """Stand for what is asked for: hand on interruptions, end with it or with who started this."""
    words, parent = sys.argv[2:], os.getppid()
    text = json.dumps([words, os.getcwd(), dict(os.environ)])  # noqa: PTH109
    try:
        place, asks = os.environ[PLACE], socket.socket(socket.AF_UNIX)
        asks.connect(place)
        socket.send_fds(asks, [b"\n"], [0, 1, 2])
        asks.sendall(f"{text}\n".encode())
        fork = int(asks.makefile("rb", buffering=0).readline())
    except (KeyError, OSError, ValueError):
        os.execv(sys.executable, [sys.executable, "-m", *words])
    signal.signal(signal.SIGINT, lambda *_: os.kill(fork, signal.SIGINT))
    while not select.select([asks], [], [], 1)[0]:
        if os.getppid() != parent:
            sys.exit(1)
    sys.exit((asks.recv(1) or b"\1")[0])


if __name__ == "__main__":
    serve(*sys.argv[2:]) if sys.argv[1:2] == ["serve"] else ask()
