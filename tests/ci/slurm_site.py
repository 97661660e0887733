"""A Slurm of one node on this machine: its own slurmctld and slurmd, on the loopback, in one folder."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "sinfo")
HOW_TO_INSTALL = "no Slurm here: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge"

# Two devices that every Linux has stand for two GPUs: Slurm hands them out as CUDA_VISIBLE_DEVICES 0 and 1.
_GRES = "Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n"
_CONFIGURATION = """
ClusterName=harness
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
GresTypes=gpu
ReturnToService=2
NodeName=here NodeAddr=127.0.0.1 NodeHostname={host} CPUs={cores} Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=here Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
"""


def is_installed() -> bool:
    return all(shutil.which(program) for program in PROGRAMS)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@contextmanager
def running_slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Start both daemons as the user who asks, yield what a client needs in its environment, and end them."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    control, node = _free_ports()
    text = _CONFIGURATION.format(
        host=socket.gethostname(), user=getpass.getuser(), folder=folder, control_port=control, node_port=node,
        cores=len(os.sched_getaffinity(0)),
    )  # fmt: skip
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(_GRES)
    client = {"SLURM_CONF": str(folder / "slurm.conf")}
    environment = {**os.environ, **client}
    daemons = []
    try:
        for command in (["slurmctld", "-D"], ["slurmd", "-D", "-N", "here"]):
            with (folder / f"{command[0]}.out").open("wb") as printed:
                daemons.append(subprocess.Popen(command, env=environment, stdout=printed, stderr=printed))
        _await_node(environment, folder)
        yield client
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
            daemon.kill()
            daemon.wait()


def _await_node(environment: dict[str, str], folder: Path) -> None:
    """Wait until the node is idle: one batch job that does nothing tells it, since sbatch itself waits."""
    command = ["sbatch", "--wait", "--output=/dev/null", "--wrap=true"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        logs = "".join(path.read_text()[-2000:] for path in sorted(folder.glob("*.out")))
        raise AssertionError(f"no job runs on this Slurm: {done.stderr}{logs}")
