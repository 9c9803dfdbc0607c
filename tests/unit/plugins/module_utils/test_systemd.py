# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of systemctl and journalctl."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils import systemd

START = 1_796_067_104_123_456  # 2026-11-30 19:31:44.123456 UTC


@pytest.mark.parametrize(
    ("stamp", "monotonic", "started"),
    [
        pytest.param("Mon 2026-11-30 19:31:44.123456 UTC", "5", START, id="us+utc"),
        pytest.param("Mo 2026-11-30 19:31:44.123456 UTC", "5", START, id="us+utc in another language"),
        pytest.param("Mon 2026-11-30 19:31:44 UTC", "4000000", 7_000_000, id="only seconds"),
        pytest.param("Mon 2026-11-30 20:31:44.123456 CET", "4000000", 7_000_000, id="local time"),
        pytest.param("Mon 2026-13-99 19:31:44.123456 UTC", "4000000", 7_000_000, id="no date"),
        pytest.param("n/a", "0", None, id="never started"),
        pytest.param("", "", None, id="nothing"),
    ],
)
def test_start(stamp: str, monotonic: str, started: int | None) -> None:
    text = f"ExecMainStartTimestamp={stamp}\nExecMainStartTimestampMonotonic={monotonic}\n"
    assert systemd.parse("x", text, now_us=8_000_000, monotonic_us=5_000_000).started_us == started


def test_start_from_the_clocks_of_this_machine() -> None:
    stamp = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6) - 60_000_000
    unit = systemd.parse("x", f"ExecMainStartTimestampMonotonic={max(stamp, 1)}\n")
    assert unit.started_us is not None
    assert unit.started_us < time.time() * 1e6


def test_parse() -> None:
    text = "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID=12\nNRestarts=3\nnoise\n"
    unit = systemd.parse("slurmd", text)
    assert unit == systemd.Unit("slurmd", "loaded", "active", "running", "success", 12, 3, None)
    assert unit.known
    assert unit.active
    nothing = systemd.parse("slurmd", "MainPID=[not set]\n")
    assert (nothing.main_pid, nothing.known, nothing.active) == (0, False, False)


class Systemctl:
    """A command runner with given answers."""

    def __init__(self, *answers: tuple[int, str, str]) -> None:
        self.answers = list(answers)
        self.calls: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> tuple[int, str, str]:
        self.calls.append(list(command))
        return self.answers.pop(0)


def test_show_asks_for_microseconds_in_utc() -> None:
    run = Systemctl((0, "LoadState=loaded\n", ""))
    assert systemd.show(run, "slurmd").known
    assert run.calls[0][-3:] == ["--timestamp=us+utc", "--", "slurmd"]


def test_show_of_an_old_systemd() -> None:
    run = Systemctl((1, "", "systemctl: unrecognized option '--timestamp=us+utc'"), (0, "LoadState=loaded\n", ""))
    assert systemd.show(run, "slurmd").known
    assert "--timestamp=us+utc" not in run.calls[1]


def test_show_fails() -> None:
    with pytest.raises(systemd.SystemdError, match="exit status 1: no bus"):
        systemd.show(Systemctl((1, "", "no bus\n")), "slurmd")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((0, "a\nb\n", ""), "a\nb"),
        ((0, "\n", ""), "(the journal has no line of slurmd)"),
        ((1, "", "no journal\n"), "(journalctl failed: no journal)"),
    ],
)
def test_journal(answer: tuple[int, str, str], text: str) -> None:
    assert systemd.journal(Systemctl(answer), "slurmd") == text


def test_epoch() -> None:
    assert systemd.epoch(1_500_000) == 1.5
    assert systemd.epoch(None) is None
