# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs inside a cell: one small root with the Slurm of a Debian release, seen by nobody else.

Started by :mod:`slurm` in name spaces of its own (mounts, processes, network, host name) with a job as JSON on standard
input; prints the answer as JSON. Whatever is written in the root goes to file systems in memory that end with the cell,
and so do the daemons. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Where the programs of the cell write, and where the evidence of the machine is laid out.
OWN_FOLDERS = ("dev", "etc/slurm", "etc/munge", "run", "sys", "tmp", "var/log", "var/lib", "var/spool")
GPU_MAJOR = 195
LOOPBACK = ("ip", "link", "set", "lo", "up")
# Every node of a cluster in the cell has an address of its own in this network; all are this machine.
NETWORK = ("ip", "address", "add", "10.0.0.1/8", "dev", "lo")
# Runs a command under a host name: slurmd listens on the address that its host name has.
AS_HOST = ("unshare", "--uts", "sh", "-c", 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"')
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# A node is settled when its registration has been judged: refused, or without UNKNOWN and NOT_RESPONDING any more.
REFUSED = "INVALID"
UNSETTLED = ("UNKNOWN", "NOT_RESPONDING", "*", "REBOOT")


def prepare(root: Path, job: dict[str, Any]) -> None:
    """Mount private folders, then lay out files, devices and the name of the machine."""
    socket.sethostname("oracle")
    for folder in OWN_FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / folder)
    mount("-t", "proc", "proc", root / "proc")
    mount("-t", "tmpfs", "tmpfs", root / "proc/driver")
    for folder in ("run/munge", "run/slurm", "var/lib/munge", "var/log/munge", "var/spool/slurmctld"):
        (root / folder).mkdir(parents=True)
    for name in job.get("nodes", {}):
        (root / "var/spool/slurmd" / name).mkdir(parents=True)
    for source, target in job.get("folders", {}).items():
        place = root / target
        place.mkdir(parents=True, exist_ok=True)
        mount("--bind", "-o", "ro", source, place)
    hosts = "".join(f"{address} {name}\n" for name, address in job.get("hosts", {}).items())
    (root / "run/hosts").write_text(f"127.0.0.1 localhost\n10.0.0.1 oracle\n{hosts}")
    mount("--bind", root / "run/hosts", root / "etc/hosts")
    for name, text in job.get("files", {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("null", "zero", "random", "urandom"):
        device(root / "dev" / name, os.stat(f"/dev/{name}").st_rdev)
    for number, name in enumerate(job.get("devices", ())):
        device(root / name.lstrip("/"), os.makedev(GPU_MAJOR, number % 256))
    for command in (LOOPBACK, NETWORK):
        subprocess.run(command, check=True, capture_output=True, text=True)


def mount(*arguments: object) -> None:
    """Call mount(8)."""
    subprocess.run(["mount", *map(str, arguments)], check=True)


def device(path: Path, number: int) -> None:
    """Make a character device."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(path, stat.S_IFCHR | 0o666, number)


def inside(root: Path, command: list[str]) -> list[str]:
    """Return the command that runs another one in the root."""
    return ["chroot", str(root), *command]


def run(root: Path, command: list[str], env: dict[str, str], timeout: float) -> dict[str, Any]:
    """Run a program in the root; return exit status (124: stopped after ``timeout`` seconds) and what it said."""
    try:
        done = subprocess.run(
            inside(root, command),
            env={"PATH": PATH, "LC_ALL": "C", **env},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        texts = [(text or b"").decode(errors="replace") for text in (error.stdout, error.stderr)]
        return {"status": 124, "output": texts[0], "errors": texts[1]}
    return {"status": done.returncode, "output": done.stdout, "errors": done.stderr}


class Cluster:
    """slurmctld and its slurmds in one root."""

    def __init__(self, root: Path, job: dict[str, Any]) -> None:
        self.root = root
        self.job = job
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self, name: str, command: list[str], env: dict[str, str] | None = None, before: tuple[str, ...] = ()
    ) -> None:
        """Start a daemon that stays in the foreground. ``before``: a command that starts others."""
        log = self.root / "var/log" / f"{name}.out"
        with log.open("wb") as stream:
            self.daemons[name] = subprocess.Popen(
                [*before, *inside(self.root, command)],
                env={"PATH": PATH, "LC_ALL": "C", **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )

    def log(self, name: str) -> str:
        """Return what a daemon has said."""
        return (self.root / "var/log" / f"{name}.out").read_text(errors="replace")

    def client(self, *command: str) -> dict[str, Any]:
        """Run a client program."""
        return run(self.root, list(command), {}, 60)

    def munge(self) -> None:
        """Start munged with a key of its own."""
        key = self.root / "etc/munge/munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start("munged", ["/usr/sbin/munged", "--foreground", "--force", "--num-threads=10"])
        self._wait((self.root / "run/munge/munge.socket.2").exists, 20)

    def up(self) -> dict[str, Any]:
        """Start everything, wait until every node has been judged, and return states, logs and times."""
        started = time.monotonic()
        self.munge()
        self.start("slurmctld", ["/usr/sbin/slurmctld", "-D"])
        serves = self._wait(self._answers, self.job["timeout"])
        answer: dict[str, Any] = {"serves": serves, "seconds": time.monotonic() - started, "nodes": {}, "logs": {}}
        if serves:
            answer["sinfo"] = self.client("sinfo", "-h", "-N", "-o", "%N")["output"]
            answer["sinfo_seconds"] = self._timed("sinfo", "-h", "-o", "%P %D")
            answer["megabytes"] = self._peak("slurmctld")
            for name, env in self.job["nodes"].items():
                self.start(f"slurmd-{name}", ["/usr/sbin/slurmd", "-D", "-N", name], env, (*AS_HOST, name))
            if self.job["nodes"]:
                self._wait(self._settled, self.job["timeout"])
            answer["nodes"] = self._nodes()
            answer["registered"] = time.monotonic() - started - answer["seconds"]
            answer["asks"] = [self.client(*command)["output"] for command in self.job.get("asks", ())]
        answer["topologies"] = {
            path.parent.name: path.read_text() for path in self.root.glob("var/spool/slurmd/*/hwloc_topo_whole.xml")
        }
        answer["logs"] = {name: self.log(name) for name in self.daemons}
        return answer

    def down(self) -> None:
        """Stop what was started."""
        for daemon in reversed(self.daemons.values()):
            with contextlib.suppress(ProcessLookupError):
                daemon.kill()
        for daemon in self.daemons.values():
            daemon.wait()

    def _wait(self, done: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if done():
                return True
            time.sleep(0.05)
        return False

    def _answers(self) -> bool:
        """Say whether slurmctld answers, or has ended and never will."""
        if self.daemons["slurmctld"].poll() is not None:
            raise EndedError
        return int(self.client("sinfo", "-h", "-o", "%P")["status"]) == 0

    def _timed(self, *command: str) -> float:
        started = time.monotonic()
        self.client(*command)
        return time.monotonic() - started

    def _peak(self, name: str) -> float:
        for line in (self.root / f"proc/{self.daemons[name].pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise ValueError(name)

    def _nodes(self) -> dict[str, dict[str, str]]:
        """Return the words of ``scontrol show node`` for each node."""
        nodes = {}
        for line in self.client("scontrol", "--oneliner", "show", "nodes")["output"].splitlines():
            fields, _mark, reason = line.partition(" Reason=")
            words = dict(word.split("=", 1) for word in fields.split() if "=" in word)
            nodes[words["NodeName"]] = {**words, "Reason": reason}
        return nodes

    def _settled(self) -> bool:
        wanted = self.job["nodes"]
        ended = {name for name in wanted if self.daemons[f"slurmd-{name}"].poll() is not None}
        states = {name: node["State"] for name, node in self._nodes().items()}
        return all(
            name in ended or REFUSED in states[name] or not any(word in states[name] for word in UNSETTLED)
            for name in wanted
        )


class EndedError(Exception):
    """slurmctld has ended."""


def main() -> None:
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    root = Path(job["root"])
    # A daemon that crashes shall not leave a core file behind.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prepare(root, job)
    cluster = Cluster(root, job)
    answer: Any
    try:
        if "commands" in job:
            cluster.munge()
            answer = [run(root, one["command"], one.get("env", {}), job["timeout"]) for one in job["commands"]]
        else:
            answer = cluster.up()
    except EndedError:
        answer = {"serves": False, "nodes": {}, "logs": {name: cluster.log(name) for name in cluster.daemons}}
    finally:
        cluster.down()
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
