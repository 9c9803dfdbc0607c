# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real Slurm of three Debian releases, asked what it makes of configuration files.

Every question is answered in a *cell*: name spaces of its own around a small root that :file:`make_root` unpacked once
(see :mod:`cell`). Device files are made at their real paths there, so files are tested exactly as generated.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "oracle"
CONF = "etc/slurm/slurm.conf"
GRES = "etc/slurm/gres.conf"
# Where a cell shows the folder that stands for a machine.
MACHINES = "tmp/machines"
# Seconds. A missing device file makes slurmd wait 20 s before it gives up.
PATIENCE = 60

# What a cell needs and a site does not: a mass of nodes on one machine, no cgroups, no database.
BASE_CONF = """\
ClusterName=oracle
SlurmctldHost=oracle(10.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
CommunicationParameters=NoInAddrAny
MpiDefault=none
SlurmdTimeout=3600
"""

ALLOWED_ERRORS = {
    r"Could not open \w+ state file|NOTE: Trying backup state save file": "a new cluster has no state to recover",
    r"High latency for \d+ calls to gettimeofday": "slurmctld times this machine, which is busy with the tests",
    r"forward_thread.*: Connection refused": "slurmctld pings nodes, through others, before they are up",
    r"mpi/pmix|mpi_pmix": "22.05 tries every MPI plugin, and libpmix is not in the root; nothing of the files",
}
_ALLOWED = re.compile("|".join(ALLOWED_ERRORS))
_STAMP = re.compile(r"^(?:\[[^\]]*\]|slurm(?:ctl)?d(?:-[^:\s]+)?:)\s*")
_FAULT = re.compile(r"^(?:error|fatal):|differs from hardware|\(hw\)|invalid|ignoring", re.IGNORECASE)
_WORDS = re.compile(r"(\w+)=(\S+)")

Env = Mapping[str, str]


class CellError(Exception):
    """A cell could not be made; the text says why."""


@dataclass(frozen=True)
class Device:
    """One line of what slurmd made of gres.conf. ``links`` is empty where there are none."""

    name: str
    kind: str
    count: int
    files: str
    cores: str
    links: str


@dataclass(frozen=True)
class Answer:
    """What a program said: exit status, standard output, messages without time stamps."""

    status: int
    output: str
    messages: tuple[str, ...]

    @property
    def words(self) -> dict[str, str]:
        """Return the words ``key=value`` of the output."""
        return dict(word.split("=", 1) for word in self.output.split() if "=" in word)

    @property
    def faults(self) -> list[str]:
        """Return the messages of something wrong that are not allowed."""
        return faults(self.messages)

    @property
    def devices(self) -> list[Device]:
        """Return the GRES records that ``slurmd -G`` printed."""
        found = []
        for line in self.messages:
            if line.startswith("Gres Name="):
                words = {key: "" if value == "(null)" else value for key, value in _WORDS.findall(line)}
                found.append(
                    Device(
                        words["Name"],
                        words.get("Type", ""),
                        int(words["Count"]),
                        words.get("File", ""),
                        words.get("Cores", ""),
                        words.get("Links", ""),
                    )
                )
        return found


@dataclass(frozen=True)
class Files:
    """The configuration of a cluster: lines of slurm.conf behind :data:`BASE_CONF`, gres.conf, other files by name."""

    slurm: str
    gres: str
    others: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Files:
        """Return the files of a result of the filter slurm_cluster, gres.conf as the role's template has it."""
        slurm = [f"GresTypes={','.join(result['gres_types'])}", *result["node_lines"], *result["partition_lines"]]
        # The second line of the template, in front of all lines.
        return cls("\n".join([*slurm, ""]), "\n".join(["AutoDetect=off", *result["gres_lines"], ""]))

    def small(self) -> Files:
        """Return the files with nodes of little memory: slurmd reports that of this machine, which hwloc cannot hide.

        (Slurm 24.11 fails to read SlurmctldParameters=node_reg_mem_percent now and then, so that is no way out.)
        """
        lines = re.sub(r"\bRealMemory=\d+", "RealMemory=1000", self.slurm)
        return replace(self, slurm=re.sub(r"\b(DefMemPer\w+)=\d+", r"\1=1", lines))


@dataclass(frozen=True)
class Machine:
    """What a slurmd finds: environment for hwloc, device files, and folders to show (source -> place in the root)."""

    env: Env
    devices: Sequence[str] = ()
    folders: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Registration:
    """How nodes registered. ``nodes``: words of ``scontrol show node``; ``topologies``: hwloc's XML by node;
    ``asks``: what the client programs printed that were run after it."""

    serves: bool
    nodes: Mapping[str, Mapping[str, str]]
    logs: Mapping[str, tuple[str, ...]]
    topologies: Mapping[str, str]
    seconds: float
    registered: float
    sinfo_seconds: float
    megabytes: float
    sinfo: str
    asks: Sequence[str]


def messages(text: str) -> tuple[str, ...]:
    """Return the lines of a log without time stamp and name of the daemon."""
    return tuple(_STAMP.sub("", _STAMP.sub("", line)) for line in text.splitlines() if line.strip())


def faults(lines: Iterable[str]) -> list[str]:
    """Return those lines that tell of something wrong and are not allowed."""
    return [line for line in lines if _FAULT.search(line) and not _ALLOWED.search(line)]


def synthetic(sockets: int, cores: int, threads: int, cpus: Sequence[int] = ()) -> dict[str, str]:
    """Return the environment that makes hwloc see a machine; ``cpus``: numbers of its CPUs in logical order."""
    indexes = f"(indexes={','.join(map(str, cpus))})" if cpus else ""
    return {
        "HWLOC_SYNTHETIC": f"pack:{sockets} numa:1 core:{cores} pu:{threads}{indexes}",
        "HWLOC_THISSYSTEM": "0",
    }


def dump(place: str, components: str = "linux") -> dict[str, str]:
    """Return the environment that makes hwloc see the machine of a folder: sysfs or (``x86``) cpuid registers."""
    variable = "HWLOC_FSROOT" if components == "linux" else "HWLOC_CPUID_PATH"
    return {variable: f"/{place}", "HWLOC_COMPONENTS": f"{components},stop", "HWLOC_THISSYSTEM": "0"}


@dataclass(frozen=True)
class Slurm:
    """The Slurm of one Debian release."""

    suite: str
    series: str

    @property
    def root(self) -> Path:
        """Return the folder with the unpacked packages."""
        return CACHE / self.suite / "root"

    def make(self) -> None:
        """Unpack the root if it is not there. Raises CellError with the reason where that fails."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        with (self.root.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = subprocess.run(
                [str(HERE / "make_root"), self.suite, str(self.root)], capture_output=True, text=True, check=False
            )
        if done.returncode:
            raise CellError(f"no root with the Slurm of Debian {self.suite}:\n{done.stderr}{done.stdout}")

    @cached_property
    def version(self) -> str:
        """Return the version that ``slurmd -V`` prints, for example ``24.11.5``."""
        done = subprocess.run(
            ["chroot", str(self.root), "/usr/sbin/slurmd", "-V"], capture_output=True, text=True, check=False
        )
        match = re.fullmatch(r"slurm\S*\s+(\S+)", done.stdout.strip())
        if match is None:
            raise CellError(f"slurmd of Debian {self.suite} does not run: {done.stdout}{done.stderr}")
        return match[1]

    def _cell(self, job: Mapping[str, Any]) -> Any:
        options = ("--mount", "--pid", "--fork", "--kill-child", "--net", "--uts", "--ipc")
        # Not in the middle of making the root.
        with (self.root.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            done = subprocess.run(
                ["unshare", *options, sys.executable, str(HERE / "cell.py")],
                input=json.dumps({"root": str(self.root), **job}),
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            raise CellError(f"the cell of Slurm {self.series} failed:\n{done.stderr}")
        return json.loads(done.stdout)

    def _files(self, files: Files) -> dict[str, str]:
        cgroup = "CgroupPlugin=cgroup/v1\n" if self.series == "22.05" else "CgroupPlugin=disabled\n"
        others = {f"etc/slurm/{name}": text for name, text in files.others}
        return {CONF: BASE_CONF + files.slurm, GRES: files.gres, "etc/slurm/cgroup.conf": cgroup, **others}

    def ask(
        self, node: str, options: Sequence[str], machine: Machine, files: Files, timeout: float = PATIENCE
    ) -> list[Answer]:
        """Return the answers of ``slurmd OPTIONS`` on a machine, which is the node ``node`` of the cluster."""
        job = {
            "nodes": {node: {}},
            "devices": list(machine.devices),
            "folders": dict(machine.folders),
            "files": {**self._files(files), **machine.files},
            "commands": [
                {"command": ["/usr/sbin/slurmd", *shlex.split(one)], "env": dict(machine.env)} for one in options
            ],
            "timeout": timeout,
        }
        return [Answer(answer["status"], answer["output"], messages(answer["errors"])) for answer in self._cell(job)]

    def generic_resources(self, node: str, machine: Machine, files: Files, timeout: float = PATIENCE) -> Answer:
        """Return what slurmd makes of the GRES lines of a node."""
        return self.ask(node, [f"-G -N {node}"], machine, files, timeout)[0]

    def register(
        self,
        files: Files,
        machines: Mapping[str, Machine],
        addresses: Mapping[str, str],
        timeout: float = PATIENCE,
        asks: Sequence[str] = (),
    ) -> Registration:
        """Start slurmctld with the files and a slurmd for each machine, and return how they registered.

        ``asks``: commands of clients to run then.
        """
        job = {
            "nodes": {name: dict(machine.env) for name, machine in machines.items()},
            "hosts": dict(addresses),
            "devices": sorted({file for machine in machines.values() for file in machine.devices}),
            "folders": {source: place for machine in machines.values() for source, place in machine.folders.items()},
            "files": self._files(files),
            "asks": [shlex.split(ask) for ask in asks],
            "timeout": timeout,
        }
        answer = self._cell(job)
        return Registration(
            serves=answer["serves"],
            nodes=answer["nodes"],
            logs={name: messages(text) for name, text in answer["logs"].items()},
            topologies=answer.get("topologies", {}),
            seconds=answer.get("seconds", 0.0),
            registered=answer.get("registered", 0.0),
            sinfo_seconds=answer.get("sinfo_seconds", 0.0),
            megabytes=answer.get("megabytes", 0.0),
            sinfo=answer.get("sinfo", ""),
            asks=answer.get("asks", ()),
        )


RELEASES = (Slurm("bookworm", "22.05"), Slurm("trixie", "24.11"), Slurm("testing", "26.05"))


def usable() -> str:
    """Return why this machine cannot make cells, empty if it can."""
    if os.geteuid() != 0:
        return "name spaces, device files and chroot need root"
    with contextlib.suppress(FileNotFoundError):
        done = subprocess.run(
            ["unshare", "--mount", "--net", "--pid", "--fork", "true"], capture_output=True, text=True, check=False
        )
        return "" if done.returncode == 0 else f"this machine does not allow name spaces: {done.stderr.strip()}"
    return "the program unshare is missing (package util-linux)"
