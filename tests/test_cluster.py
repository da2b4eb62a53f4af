"""A sweep on a cluster: jobs are submitted, one is killed and submitted again, and the table is
that of one machine to the last digit. By the generic plugin, and on a real Slurm of one node."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from executed import snakemake

from helpers import store

SMALL = "{seeds: [0], per_class: 6, trainings: 1}"
SUBMIT = """import os, pathlib, signal, subprocess, sys, time
place, job = pathlib.Path(sys.argv[1]), sys.argv[-1]
number = len([*place.glob("*.job")])
(place / f"{number}.job").write_text(job)
run = f"bash {job}; echo $? > {place}/{number}.rc"
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
if number:
    subprocess.Popen(["bash", "-c", run], **quiet)
else:  # the first is killed on its way
    first = subprocess.Popen(["bash", job], **quiet)
    time.sleep(1)
    os.killpg(first.pid, signal.SIGKILL)
    (place / "0.rc").write_text("137")
print(number)
"""
STATUS = """import pathlib, sys
rc = pathlib.Path(sys.argv[1]) / f"{sys.argv[-1]}.rc"
code = rc.read_text().strip() if rc.is_file() else ""
print({"": "running", "0": "success"}.get(code, "failed"))
"""
HERE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def sweep(folder: Path, *how: str, **environment: str) -> subprocess.Popen:
    """The small sweep, begun with a store of its own, so that every number is computed."""
    config = store.write_text(folder / "small.yml", SMALL)
    own = {"PATH": HERE, "SUITE_OUTPUTS": str(folder / "outputs")}
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        "sweeps/context_bias.smk",
        "--nolock",
    ]
    return subprocess.Popen(
        [*command, "--configfile", str(config), *how],
        cwd=store.root(), env=os.environ | own | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def table(folder: Path, began: subprocess.Popen) -> bytes:
    told = began.communicate()[0]
    assert began.returncode == 0, told[-3000:]
    return (folder / "outputs/sweep/worlds.csv").read_bytes()


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The folder of a sweep of one machine, and what it said when it was asked a second time."""
    folder = tmp_path_factory.mktemp("machine")
    asks = [f"--configfile {store.write_text(folder / 'small.yml', SMALL)}"] * 2
    where = {"folder": store.root(), "outputs": folder / "outputs"}
    told = snakemake("sweeps/context_bias.smk", *asks, **where)
    assert all("ENDED WITH 0" in one for one in told), told
    return folder / "outputs/sweep/worlds.csv", told[1]


@pytest.fixture(scope="module")
def of_one_machine(twice):
    return twice[0].read_bytes()


@pytest.mark.slow
def test_a_sweep_runs_and_a_second_time_has_nothing_to_do(twice):
    written = pd.read_csv(twice[0])
    assert set(written["pair"]) == {0} and set(written["world"]) == {"biased", "twin"}
    assert "Nothing to be done" in twice[1]


@pytest.mark.slow
def test_a_killed_job_is_submitted_again_by_the_generic_plugin(
    tmp_path, of_one_machine
):
    place = tmp_path / "jobs"
    place.mkdir()
    for name, code in {"submit": SUBMIT, "status": STATUS}.items():
        store.write_text(tmp_path / f"{name}.py", code)
    does = [
        f"--cluster-generic-{name}-cmd={sys.executable} {tmp_path}/{name}.py {place}"
        for name in ("submit", "status")
    ]
    how = ["--executor", "cluster-generic", *does, "--jobs", "2", "--retries", "1"]
    made = table(
        tmp_path, sweep(tmp_path, *how, "--seconds-between-status-checks", "1")
    )
    assert made == of_one_machine
    codes = [int(path.read_text()) for path in place.glob("*.rc")]
    assert sorted(codes) == [0, 0, 137], (
        "the world, the table, and the one that was killed"
    )


CONFIG = """ClusterName=one
SlurmctldHost={host}(127.0.0.1)
AuthInfo=socket={place}/munge/socket
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES State=UP
"""
NEEDS = "slurmctld", "slurmd", "munged"
LACKS = [name for name in NEEDS if not shutil.which(name, path="/usr/sbin:" + HERE)]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A Slurm of this machine alone; the environment in which its commands find it."""
    if LACKS or os.getuid():
        pytest.skip(
            "no Slurm here: Debian's packages slurm-wlm and munge, started by root"
        )
    place = tmp_path_factory.mktemp("slurm")
    for folder in (place, *place.parents[:2]):
        folder.chmod(0o755)
    for name in ("munge", "state", "spool"):
        (place / name).mkdir(mode=0o700)
    key = place / "munge/key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    with socket.socket() as one, socket.socket() as two:
        one.bind(("", 0)), two.bind(("", 0))
        ports = [it.getsockname()[1] for it in (one, two)]
    host = socket.gethostname().split(".")[0]
    text = CONFIG.format(host=host, place=place, ports=ports, cores=os.cpu_count())
    config = store.write_text(place / "slurm.conf", text)
    # jobs lose SLURM_CONF, which a real cluster has no need of: theirs is /etc/slurm/slurm.conf
    step = f'#!/bin/sh\nSLURM_CONF={config} exec {shutil.which("srun")} "$@"\n'
    store.write_text(place / "bin/srun", step).chmod(0o755)
    environment = {"SLURM_CONF": str(config), "PATH": f"{place}/bin:/usr/sbin:{HERE}"}
    tell = {"check": True, "env": {**os.environ, **environment}}
    munge = [f"--{name}-file={place}/munge/{name}" for name in ("pid", "log", "seed")]
    socket_of = f"--socket={place}/munge/socket"
    subprocess.run(
        ["munged", "--force", f"--key-file={key}", socket_of, *munge], **tell
    )
    try:
        for daemon in ("slurmctld", "slurmd"):
            subprocess.run([daemon], **tell)
        for _ in range(60):
            state = subprocess.run(
                ["sinfo", "-h", "-o", "%T"], capture_output=True, **tell
            )
            if b"idle" in state.stdout:
                break
            time.sleep(0.5)
        yield environment
    finally:
        for pid in ("slurmd.pid", "slurmctld.pid", "munge/pid"):
            if (place / pid).is_file():
                os.kill(int((place / pid).read_text()), signal.SIGTERM)


@pytest.mark.slow
def test_a_killed_job_is_submitted_again_on_a_real_slurm(
    tmp_path, of_one_machine, slurm
):
    how = "--executor slurm --jobs 2 --retries 1 --slurm-no-account --slurm-status-command squeue"
    how += (
        " --slurm-init-seconds-before-status-checks 5 --seconds-between-status-checks 2"
    )
    how += (
        " --default-resources slurm_partition=main mem_mb=900 runtime=30"  # no accounts
    )
    began = sweep(
        tmp_path, *how.split(), "--slurm-logdir", str(tmp_path / "logs"), **slurm
    )
    tell = {"env": {**os.environ, **slurm}, "capture_output": True, "text": True}
    killed = ""
    while not killed and began.poll() is None:
        running = subprocess.run(
            ["squeue", "-h", "-t", "R", "-o", "%i"], **tell
        ).stdout.split()
        if running:
            killed = running[0]
            subprocess.run(["scancel", "--signal=KILL", "--full", killed], **tell)
        time.sleep(0.5)
    assert table(tmp_path, began) == of_one_machine
    assert killed, "no job was seen by squeue"
    every = subprocess.run(["scontrol", "show", "job", "-o"], **tell).stdout
    assert 2 <= every.count("JobState=COMPLETED") < len(every.splitlines())


def test_make_names_the_executor():
    command = ["make", "-o", ".venv/ready", "-n", "sweep", "EXECUTOR=slurm", "JOBS=20"]
    told = subprocess.run(
        command, capture_output=True, text=True, cwd=store.root()
    ).stdout
    assert "--executor slurm --jobs 20 --retries 2" in told and "--cores" not in told
