# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd knows about a unit, read with one ``systemctl show``.

``run`` in the functions below is a command runner with the signature of ``AnsibleModule.run_command``: it takes a list
of arguments and returns ``(exit status, stdout, stderr)``.
"""

from __future__ import annotations

import time
from calendar import timegm
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence, Tuple

Run = Callable[[Sequence[str]], Tuple[int, str, str]]

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "MainPID",
    "NRestarts",
    "ExecMainStartTimestamp",
    "ExecMainStartTimestampMonotonic",
    "Job",
)
_MICROSECONDS = 1_000_000


class SystemdError(Exception):
    """systemctl could not be asked; the text says why."""


@dataclass(frozen=True)
class Unit:
    """The state of one unit.

    ``started_us`` is the start of the main process in microseconds since the epoch, None if it never ran.
    ``main_pid`` is 0 and ``restarts`` is 0 where systemd has none. ``busy``: a job (start, stop, restart) of the unit
    waits or runs, so that the state is about to change.
    """

    name: str
    load_state: str
    active_state: str
    sub_state: str
    result: str
    main_pid: int
    restarts: int
    started_us: int | None
    busy: bool = False

    @property
    def known(self) -> bool:
        """Whether systemd has a usable unit of this name (not missing, not masked, not broken)."""
        return self.load_state == "loaded"

    @property
    def active(self) -> bool:
        """Whether the unit runs; a unit that is just reloading its configuration does."""
        return self.active_state in ("active", "reloading", "refreshing")


def show(run: Run, name: str) -> Unit:
    """Return the state of unit ``name``; a unit that does not exist has the load state ``not-found``.

    Raises SystemdError when systemctl fails, for example on a machine that was not booted with systemd.
    """
    command = ["systemctl", "show", f"--property={','.join(_PROPERTIES)}"]
    status, out, err = run([*command, "--timestamp=us+utc", "--", name])
    if status != 0 and "timestamp" in err:  # systemd before 247 does not know the option
        status, out, err = run([*command, "--", name])
    if status != 0:
        raise SystemdError(f"systemctl show {name} failed with exit status {status}: {(err or out).strip()}")
    return parse(name, out)


def parse(name: str, text: str, now_us: int | None = None, monotonic_us: int | None = None) -> Unit:
    """Return the unit that ``text``, the output of ``systemctl show``, describes.

    The start is read from the real-time stamp where it is printed in UTC with microseconds. Otherwise it is computed
    from the monotonic stamp; ``now_us`` and ``monotonic_us`` are the two clocks now (default: read here).
    """
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return Unit(
        name=name,
        load_state=values.get("LoadState", ""),
        active_state=values.get("ActiveState", ""),
        sub_state=values.get("SubState", ""),
        result=values.get("Result", ""),
        main_pid=_number(values, "MainPID"),
        restarts=_number(values, "NRestarts"),
        started_us=_started(values, now_us, monotonic_us),
        busy=values.get("Job", "") not in ("", "0"),
    )


def journal(run: Run, name: str, lines: int = 20) -> str:
    """Return the last ``lines`` lines that the unit wrote to the journal, or a sentence that says why not."""
    status, out, err = run(["journalctl", "--no-pager", "--quiet", "-o", "short-iso", "-n", str(lines), "-u", name])
    if status != 0:
        return f"(journalctl failed: {(err or out).strip()})"
    return out.rstrip() or f"(the journal has no line of {name})"


def epoch(microseconds: int | None) -> float | None:
    """Return seconds since the epoch for ``microseconds``; None stays None."""
    return None if microseconds is None else microseconds / _MICROSECONDS


def _number(values: Mapping[str, str], key: str) -> int:
    value = values.get(key, "")
    return int(value) if value.isdigit() else 0


def _started(values: Mapping[str, str], now_us: int | None, monotonic_us: int | None) -> int | None:
    stamp = _utc_stamp(values.get("ExecMainStartTimestamp", ""))
    if stamp is not None:
        return stamp
    since_boot = _number(values, "ExecMainStartTimestampMonotonic")
    if since_boot == 0:
        return None
    if now_us is None:
        now_us = time.time_ns() // 1000
    if monotonic_us is None:
        monotonic_us = int(time.clock_gettime(time.CLOCK_MONOTONIC) * _MICROSECONDS)
    return now_us - (monotonic_us - since_boot)


def _utc_stamp(text: str) -> int | None:
    """Return microseconds since the epoch for ``Mon 2026-11-30 19:31:44.123456 UTC``, None for any other form.

    A stamp without microseconds is refused: a file written in the second of the start could not be told from an older
    one. strptime's %a depends on the locale, so the name of the day is cut off.
    """
    parts = text.split()
    if len(parts) != 4 or parts[3] != "UTC" or "." not in parts[2]:
        return None
    whole, fraction = parts[2].split(".", 1)
    try:
        seconds = timegm(time.strptime(f"{parts[1]} {whole}", "%Y-%m-%d %H:%M:%S"))
        return seconds * _MICROSECONDS + int(fraction.ljust(6, "0")[:6])
    except ValueError:
        return None
