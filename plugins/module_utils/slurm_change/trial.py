# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start slurmctld with new configuration files where it can do no harm, and see whether it comes up.

slurmctld has no option that only checks its files, and many errors (an unknown parameter, a partition with an unknown
node, a plugin that is not installed) end it at its start, when the old one is already gone. So a copy of the files is
made in a private folder and a second slurmctld is started from there: in a network namespace of its own, in which it
can neither take the port of the real one nor reach a node or a database, with a state folder of its own and without the
programs that act on the world. It is stopped as soon as it serves.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import ipaddress
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from typing import Callable, Mapping

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import parse

# Left out of the trial copy: what would reach out (database, programs, mail), what is set anew below, and what cannot
# be had without the database (QOS of partitions, fair share).
_LEFT_OUT = (
    r"AccountingStor\w+|JobComp\w+|BurstBufferType|PriorityType|QOS|AllowQos|DenyQos"
    r"|Prolog|Epilog|PrologSlurmctld|EpilogSlurmctld|ResvProlog|ResvEpilog|HealthCheckProgram|HealthCheckInterval"
    r"|SlurmctldPrimaryOnProg|SlurmctldPrimaryOffProg|SlurmctldPlugstack|UnkillableStepProgram"
    r"|SuspendProgram|ResumeProgram|ResumeFailProgram|RebootProgram|MailProg"
    r"|SlurmctldHost|SlurmctldAddr|ControlMachine|ControlAddr|BackupController|BackupAddr|CommunicationParameters"
    r"|StateSaveLocation|SlurmctldPidFile|SlurmctldLogFile|SlurmctldDebug|SlurmctldSyslogDebug"
    r"|SlurmSchedLogFile|SlurmSchedLogLevel"
)
_LEFT_OUT_PAIR = re.compile(rf'(^|(?<=\s))(?:{_LEFT_OUT})\s*=\s*(?:"[^"]*"|[^\s#]+)', re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)#.*$")
_NODE_LINE = re.compile(r"^\s*NodeName\s*=\s*(?!DEFAULT(\s|$))", re.IGNORECASE)
_NODE_ADDRESS = re.compile(r"(?<=\s)NodeAddr\s*=\s*(\S+)", re.IGNORECASE)
_ADDRESSES = re.compile(r"(?<=\s)(?:NodeAddr|BcastAddr)\s*=\s*\S+", re.IGNORECASE)
# These must be set where nodes are powered on demand; they are never called in the few seconds of a trial.
_HARMLESS = ("SuspendProgram", "ResumeProgram", "ResumeFailProgram")

# slurmctld says this after it has read everything; what it loads after that ends it within the second of _SETTLE.
_SERVES = "Running as primary controller"
_SETTLE = 1.0
_POLL = 0.1
_STOP = 3.0  # seconds from SIGTERM to SIGKILL

_STAMP = re.compile(r"^(?:\[[^\]]*\]|slurmctld:|\S+T\S+)\s+")
_LEVEL = re.compile(r"^(fatal|error):\s*(.*)$")
# Errors that come from the trial itself or from the machine, not from the files.
_EXPECTED = re.compile(
    r"[Mm]unge|munged|getaddrinfo|[Uu]nable to resolve|set_slurmd_addr|slurm_set_addr|name resolution"
    r"|Network is unreachable|No route to host|Connection refused|[Uu]nable to contact|not responding"
    r"|MailProg|state file|save file|mpi/pmix|MPI: Cannot create context|High latency"
    # Without its database the trial has nowhere to store; Debian's own plugstack.conf holds a pattern that Slurm does
    # not read.
    r'|gathered, but not stored|glob parsing|"Include" failed in file \S*plugstack\.conf',
)

_NO_MUNGE = re.compile(r"munge", re.IGNORECASE)
# slurmctld waits a minute for a file that will not come, then it ends.
_HOPELESS = re.compile(r"error: .*cannot stat file .*retrying")

_CLONE_NEWNET = 0x40000000
_CLONE_NEWNS = 0x00020000
_MS_REC_PRIVATE = 0x4000 | 0x40000
_SIOCSIFFLAGS = 0x8914
_SIOCSIFADDR = 0x8916
_IFF_UP = 0x1


@dataclass(frozen=True)
class Verdict:
    """What the trial showed.

    ``done``: whether it took place, otherwise ``reason`` says why not. ``fatal``: the lines for which slurmctld
    refused the files, empty if it took them. ``errors``: lines at which it went on. ``undecided``: it neither served
    nor ended in time.
    """

    done: bool
    reason: str = ""
    fatal: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    undecided: bool = False


def trial_conf(text: str, folder: str, host: str) -> str:
    """Return the slurm.conf ``text`` for a trial in ``folder`` on the machine with the short name ``host``.

    Line numbers stay as they are, so that messages of Slurm fit the real file.
    """
    programs = [name for name in _HARMLESS if re.search(rf"^[^#]*\b{name}\s*=", text, re.IGNORECASE | re.MULTILINE)]
    own = [
        f"SlurmctldHost={host}",
        f"StateSaveLocation={folder}/state",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        "SlurmctldDebug=info",
        "SlurmctldSyslogDebug=quiet",
        "PriorityType=priority/basic",
        "MailProg=/bin/true",
        *(f"{name}=/bin/true" for name in programs),
    ]
    return "\n".join([*trial_lines(text), *own, ""])


def trial_lines(text: str) -> list[str]:
    """Return the lines of ``text`` without comments and the parameters that a trial must not have.

    A continued line comes out as one line and blank ones, so that the numbers stay as they are.
    """
    lines: list[str] = []
    held: list[str] = []
    for raw in text.splitlines():
        held.append(_COMMENT.sub("", raw).rstrip())
        if held[-1].endswith("\\"):
            held[-1] = held[-1][:-1]
            continue
        lines += [_trial_line(" ".join(held)), *[""] * (len(held) - 1)]
        held = []
    return [*lines, *held]


def _trial_line(line: str) -> str:
    line = _LEFT_OUT_PAIR.sub("", line)
    if not _NODE_LINE.match(line) or _numeric(line):
        return line
    # Names cannot be resolved without a network, and slurmctld tries each for ten seconds.
    return f"{_ADDRESSES.sub('', line).rstrip()} NodeAddr=127.0.0.1"


def _numeric(line: str) -> bool:
    """Whether a line of nodes names their addresses as numbers."""
    match = _NODE_ADDRESS.search(line)
    if match is None:
        return False
    try:
        for address in parse.names(match.group(1)):
            ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def judge(log: str, ended: bool, served: bool) -> Verdict:
    """Return the verdict on the ``log`` of a trial whose slurmctld ``ended`` by itself or ``served``."""
    fatal, errors = findings(log)
    if any(_NO_MUNGE.search(line) for line in fatal):
        return Verdict(False, "munged does not answer, and without it slurmctld does not start")
    errors = [line for line in errors if not _EXPECTED.search(line)]
    if ended or fatal or _HOPELESS.search(log):
        # The fatal line often says only that it is over; the errors before it say why.
        last = log.strip().splitlines()[-1:] or ["slurmctld ended without a word"]
        return Verdict(done=True, fatal=tuple([*errors, *fatal] or last))
    return Verdict(done=True, errors=tuple(errors), undecided=not served)


def findings(log: str) -> tuple[list[str], list[str]]:
    """Return (fatal lines, error lines) of a slurmctld log, without time stamps and repetitions."""
    found: dict[str, list[str]] = {"fatal": [], "error": []}
    for line in log.splitlines():
        rest = _STAMP.sub("", line.strip())
        match = _LEVEL.match(_STAMP.sub("", rest))
        if match and match.group(2) not in found[match.group(1)]:
            found[match.group(1)].append(match.group(2).strip())
    return found["fatal"], found["error"]


def slurm_user(conf_text: str, others: Mapping[str, str]) -> str:
    """Return the SlurmUser of a slurm.conf, Slurm's default if it names none."""
    value = parse.slurm_conf(conf_text, others).parameters.get("slurmuser")
    return value.text if value else "root"


def run(files: Mapping[str, str], conf_dir: str, slurmctld: str, timeout: float) -> Verdict:
    """Try the configuration ``files`` (name -> text) that are to live in ``conf_dir``.

    ``slurmctld`` is the path of the program, ``timeout`` the longest time in seconds. Files of ``conf_dir`` that are
    not among ``files`` are seen by the trial as they are.
    """
    if os.geteuid() != 0:
        return Verdict(False, "only root can start slurmctld in a network namespace of its own")
    folder = tempfile.mkdtemp(prefix="steelrack-trial-")
    try:
        _prepare(folder, files, conf_dir)
        verdict = _watch(folder, slurmctld, _isolation(files), timeout)
        return replace(
            verdict,
            fatal=tuple(line.replace(folder, conf_dir) for line in verdict.fatal),
            errors=tuple(line.replace(folder, conf_dir) for line in verdict.errors),
        )
    finally:
        # What cannot be removed (a daemon of the trial still writes while it ends) must not hide the verdict.
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(folder: str, files: Mapping[str, str], conf_dir: str) -> None:
    host = socket.gethostname().split(".")[0]
    os.mkdir(os.path.join(folder, "state"))
    includes = parse.included(files["slurm.conf"], files)
    for name, text in files.items():
        if name == "slurm.conf":
            text = trial_conf(text, folder, host)
        elif name in includes:
            text = "\n".join([*trial_lines(text), ""])
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)
    for entry in os.scandir(conf_dir) if os.path.isdir(conf_dir) else ():
        # slurmdbd.conf holds the password of the database and is none of slurmctld's files.
        if entry.name not in files and entry.name != "slurmdbd.conf" and not entry.name.startswith("."):
            os.symlink(entry.path, os.path.join(folder, entry.name))
    try:
        user = pwd.getpwnam(slurm_user(files["slurm.conf"], files))
    except KeyError:
        return  # slurmctld says so itself
    for root, folders, names in os.walk(folder):
        for name in (".", *folders, *names):
            os.lchown(os.path.join(root, name), user.pw_uid, user.pw_gid)


def _isolation(files: Mapping[str, str]) -> Callable[[], None]:
    """Return a function for the child process: it leaves the network, and the socket of the real slurmctld."""
    libc = ctypes.CDLL(None, use_errno=True)
    auth = parse.slurm_conf(files["slurm.conf"], files).parameters.get("authtype")
    # With auth/slurm slurmctld makes a socket in /run and first removes the one that is there.
    own_run = auth is not None and auth.text.lower() == "auth/slurm"
    up = struct.pack("16sH14x", b"lo", _IFF_UP)
    # Slurm asks for addresses of configured families only, and to the C library 127.0.0.1 alone is no such family.
    address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton("192.0.2.1"))

    def isolate() -> None:
        if libc.unshare(_CLONE_NEWNET | (_CLONE_NEWNS if own_run else 0)) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        if own_run and (
            libc.mount(b"none", b"/", None, _MS_REC_PRIVATE, None) != 0
            or libc.mount(b"tmpfs", b"/run", b"tmpfs", 0, b"mode=755") != 0
        ):
            raise OSError(ctypes.get_errno(), "mount")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            fcntl.ioctl(probe, _SIOCSIFFLAGS, up)
            fcntl.ioctl(probe, _SIOCSIFADDR, address)

    return isolate


def _watch(folder: str, slurmctld: str, isolate: Callable[[], None], timeout: float) -> Verdict:
    console = os.path.join(folder, "console")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    command = [slurmctld, "-D", "-c", "-f", os.path.join(folder, "slurm.conf")]
    with open(console, "wb") as out:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                start_new_session=True,
                preexec_fn=isolate,
            )
        except subprocess.SubprocessError:
            return Verdict(False, "this machine does not let slurmctld be started in a network namespace of its own")
        except OSError as error:
            return Verdict(False, f"{slurmctld} cannot be started: {error.strerror}")
    try:
        ended, served = _follow(child, lambda: _log(folder), timeout)
    finally:
        _stop(child)
    return judge(_log(folder), ended, served)


def _follow(child: subprocess.Popen[bytes], read: Callable[[], str], timeout: float) -> tuple[bool, bool]:
    """Return (ended by itself, served) of the ``child`` whose log ``read`` returns."""
    end = time.monotonic() + timeout
    serves_since: float | None = None
    while time.monotonic() < end:
        if child.poll() is not None:
            return True, False
        log = read() if serves_since is None else ""
        if _HOPELESS.search(log):
            return False, False
        if _SERVES in log:
            serves_since = time.monotonic()
        if serves_since is not None and time.monotonic() - serves_since >= _SETTLE:
            return False, True
        time.sleep(_POLL)
    return child.poll() is not None, serves_since is not None


def _log(folder: str) -> str:
    texts = []
    for name in ("console", "slurmctld.log"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as log:
                texts.append(log.read())
        except FileNotFoundError:
            continue
    return "\n".join(texts)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the trial and what it started: first asking, then by force."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_STOP)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
