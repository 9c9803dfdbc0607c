# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the facts about a machine come from.

Evidence is looked up in a list of *roots*. The root ``/`` is the machine itself; every other root is a *bundle*, a
folder with ``sys/``, ``proc/`` and ``commands/`` laid out like a machine. For a file the first root that has it wins,
for a folder listing the first root that has the folder, for a command the first root that holds its output. Only the
root ``/`` runs anything.

What was read is kept in :attr:`Evidence.taken`, in the layout of a bundle: reading a machine once is all it takes to
make a bundle of it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import subprocess
from dataclasses import dataclass
from typing import BinaryIO, Sequence

__all__ = ["COMMAND_MISSING", "COMMAND_TIMED_OUT", "Command", "Evidence", "EvidenceError", "command_file"]

COMMAND_MISSING = 127  # exit status of a command that is not there, as shells have it
COMMAND_TIMED_OUT = 124  # exit status of a command that had to be stopped, as timeout(1) has it

_LIVE = "/"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LARGEST_FILE = 8 << 20  # bytes; the longest text read is nvidia-smi's, far below
_LONGEST_STATUS = 16  # bytes
_GRACE = 2.0  # seconds; a process in uninterruptible sleep does not even die of SIGKILL


class EvidenceError(Exception):
    """The roots themselves cannot be used."""


@dataclass(frozen=True)
class Command:
    """Exit status and standard output of a command."""

    status: int
    output: str


def command_file(arguments: Sequence[str]) -> str:
    """Return the name under ``commands/`` for a command line.

    >>> command_file(["nvidia-smi", "-q", "-x"])
    'nvidia-smi_-q_-x'
    """
    return "_".join(arguments).replace("/", "-")


class Evidence:
    """Files, folders and command outputs of one machine.

    :param roots: folders, first match wins; ``/`` is the live machine.
    :param timeout: seconds after which a live command is stopped.
    :raises EvidenceError: when there is no root, or a root is no folder.
    """

    def __init__(self, roots: Sequence[str], timeout: float = 60.0) -> None:
        if not roots:
            raise EvidenceError("the list of evidence roots is empty")
        for root in roots:
            if not os.path.isdir(root):
                raise EvidenceError(f"the evidence root {root} is not a folder on this machine")
        self._roots = [os.path.abspath(root) for root in roots]
        self._timeout = timeout
        self._ran: dict[str, Command] = {}
        self.taken: dict[str, bytes] = {}

    def read_bytes(self, path: str, limit: int = _LARGEST_FILE) -> bytes | None:
        """Return at most ``limit`` bytes of the file ``path`` (absolute), or None where it cannot be read."""
        for root in self._roots:
            try:
                with _open(_below(root, path)) as stream:
                    content = stream.read(limit)
            except OSError:  # sysfs also answers with errors of the hardware
                continue
            self.taken[path.lstrip("/")] = content
            return content
        return None

    def read(self, path: str, limit: int = _LARGEST_FILE) -> str | None:
        """Return the text of the file ``path`` without white space around it, or None where it cannot be read."""
        content = self.read_bytes(path, limit)
        return None if content is None else content.decode("utf-8", "replace").strip()

    def exists(self, path: str) -> bool:
        """Tell whether any root has ``path``, be it a file, a folder or a link."""
        found = any(os.path.lexists(_below(root, path)) for root in self._roots)
        if found:
            self.taken.setdefault(path.lstrip("/"), b"")
        return found

    def names(self, folder: str) -> list[str] | None:
        """Return the sorted names in ``folder`` without hidden ones, or None where no root has it."""
        for root in self._roots:
            try:
                names = sorted(name for name in os.listdir(_below(root, folder)) if not name.startswith("."))
            except OSError:
                continue
            if not names:  # a bundle consists of files alone; this one keeps the folder
                self.taken[f"{folder.lstrip('/')}/.empty"] = b""
            return names
        return None

    def root(self, path: str) -> str | None:
        """Return the root that has ``path``, or None: what two roots say of one thing need not fit together."""
        return next((root for root in self._roots if os.path.lexists(_below(root, path))), None)

    def run(self, *arguments: str, keep: re.Pattern[str] | None = None) -> Command:
        """Return what the command printed: recorded in a bundle, or run here in the C locale and bounded in time.

        A command runs once; who asks again gets the same answer. With ``keep`` only lines that match it are returned,
        and only they go into a bundle.
        """
        name = "commands/" + command_file(arguments)
        if name not in self._ran:
            self._ran[name] = self._first_run(arguments, name, keep)
        return self._ran[name]

    def _first_run(self, arguments: Sequence[str], name: str, keep: re.Pattern[str] | None) -> Command:
        for root in self._roots:
            command = self._run_live(arguments) if root == _LIVE else _recorded(root, name)
            if command is not None and command.status != COMMAND_MISSING:
                if keep is not None:
                    lines = [line for line in command.output.splitlines(keepends=True) if keep.search(line)]
                    command = Command(command.status, "".join(lines))
                self.taken[name] = command.output.encode("utf-8")
                if command.status:
                    self.taken[name + ".rc"] = b"%d\n" % command.status
                return command
        return Command(COMMAND_MISSING, "")

    def _run_live(self, arguments: Sequence[str]) -> Command:
        environment = {"PATH": _PATH, "LC_ALL": "C", "HOME": "/root"}
        try:
            process = subprocess.Popen(
                list(arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            return Command(COMMAND_MISSING, "")
        try:
            output, _unused = process.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            _abandon(process)
            return Command(COMMAND_TIMED_OUT, "")
        return Command(process.returncode, output.decode("utf-8", "replace"))


def _below(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))


def _open(path: str) -> BinaryIO:
    """Open a regular file; anything else (a pipe that nobody fills, a device) is an OSError and not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


def _recorded(root: str, name: str) -> Command | None:
    path = os.path.join(root, name)
    try:
        with _open(path) as stream:
            output = stream.read(_LARGEST_FILE).decode("utf-8", "replace")
    except OSError:
        return None
    try:
        with _open(path + ".rc") as stream:
            status = int(stream.read(_LONGEST_STATUS))
    except OSError:
        status = 0
    except ValueError:
        raise EvidenceError(f"{path}.rc does not hold an exit status") from None
    return Command(status, output)


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """Stop the process and its children; wait for it only a moment, a hung driver must not hang the caller."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.communicate(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        if process.stdout is not None:
            process.stdout.close()
