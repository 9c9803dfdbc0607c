# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""service_alive: the waiting with a clock of its own, the module against stand-ins for systemctl and journalctl."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.systemd import Unit
from ansible_collections.steelrack.gpu_cluster.plugins.modules import service_alive


def unit(state: str = "active", pid: int = 7, restarts: int = 0) -> Unit:
    return Unit("slurmctld", "loaded", state, "running", "success", pid, restarts, 1)


class Story:
    """A unit whose state is told by a function of the time; time passes only by sleeping."""

    def __init__(self, states: Callable[[float], Unit], answers: Callable[[float], bool] = lambda now: True) -> None:
        self.now = 0.0
        self.states = states
        self.answers = answers

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, settle: float = 3, timeout: float = 20) -> str:
        _unit, why = service_alive.wait(
            look=lambda: self.states(self.now),
            probe=lambda: self.answers(self.now),
            settle=settle,
            timeout=timeout,
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        return why


@pytest.mark.parametrize(
    ("states", "answers", "why", "least", "most"),
    [
        pytest.param(lambda now: unit(), lambda now: True, "", 3, 3.5, id="up from the start"),
        pytest.param(
            lambda now: unit("activating" if now < 5 else "active"), lambda now: True, "", 8, 9, id="slow to start"
        ),
        pytest.param(lambda now: unit(), lambda now: now >= 6, "", 9, 10, id="port opens later"),
        pytest.param(lambda now: unit(pid=7 if now < 2 else 8), lambda now: True, "", 5, 6, id="new process once"),
        pytest.param(lambda now: unit(), lambda now: not 1 < now < 2, "", 5, 6, id="port gone for a moment"),
        pytest.param(
            lambda now: unit(pid=int(now), restarts=int(now)),
            lambda now: True,
            "its main process kept changing for 20 s",
            20,
            21,
            id="restarts for ever",
        ),
        pytest.param(lambda now: unit("failed"), lambda now: True, "it has failed", 0, 0, id="failed"),
        pytest.param(
            lambda now: replace(unit(), busy=now < 2), lambda now: True, "", 5, 6, id="a restart is about to come"
        ),
        pytest.param(
            lambda now: unit("active" if now < 2 else "failed"), lambda now: True, "it has failed", 2, 3, id="dies soon"
        ),
        pytest.param(
            lambda now: unit("inactive", pid=0),
            lambda now: True,
            "it is not running and nothing starts it",
            3,
            4,
            id="nobody starts it",
        ),
        pytest.param(
            lambda now: unit("inactive" if now < 1 else "active"), lambda now: True, "", 4, 5, id="about to start"
        ),
        pytest.param(
            lambda now: unit("activating"),
            lambda now: True,
            "it did not become active within 20 s",
            20,
            21,
            id="for ever activating",
        ),
        pytest.param(
            lambda now: unit(),
            lambda now: False,
            "it is active but nobody listens on its port after 20 s",
            20,
            21,
            id="port closed",
        ),
    ],
)
def test_wait(
    states: Callable[[float], Unit], answers: Callable[[float], bool], why: str, least: float, most: float
) -> None:
    story = Story(states, answers)
    assert story.wait() == why
    assert least <= story.now <= most


def test_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert service_alive.listens(port)
    assert not service_alive.listens(port)


@pytest.mark.parametrize(
    ("state", "started", "expected"),
    [
        pytest.param("active", 90, 10.0, id="up for ten seconds"),
        pytest.param("active", 110, 0.0, id="a clock that ran backwards"),
        pytest.param("failed", 90, 0.0, id="not up"),
        pytest.param("active", None, 0.0, id="start unknown"),
    ],
)
def test_age(state: str, started: int | None, expected: float) -> None:
    seen = Unit("slurmd", "loaded", state, "running", "success", 7, 0, None if started is None else started * 1_000_000)
    assert service_alive.age(seen, 100.0) == expected


def test_a_service_that_is_up_for_long_is_not_waited_for() -> None:
    story = Story(lambda now: unit())
    _unit, why = service_alive.wait(
        look=lambda: story.states(story.now),
        probe=lambda: True,
        settle=3,
        timeout=20,
        already=lambda seen: 60.0,
        clock=lambda: story.now,
        sleep=story.sleep,
    )
    assert (why, story.now) == ("", 0.0)


def test_alive(run_module: Any, program: Any) -> None:
    program("systemctl", "echo LoadState=loaded; echo ActiveState=active; echo MainPID=77; echo NRestarts=2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = run_module(service_alive, name="slurmctld", port=server.getsockname()[1], settle=0.1, timeout=5)
    assert (result["changed"], result["main_pid"], result["restarts"]) == (False, 77, 2)


def test_the_failure_tells_what_an_operator_needs(run_module: Any, program: Any) -> None:
    program(
        "systemctl",
        "echo LoadState=loaded; echo ActiveState=failed; echo SubState=failed; echo Result=exit-code; echo NRestarts=5",
    )
    journal = program("journalctl", "echo \"$@\" > $LOG/journalctl; echo 'slurmctld: fatal: no such plugin'")
    result = run_module(service_alive, name="slurmctld", port=6817)
    assert result["failed"] is True
    for text in (
        "Service slurmctld is not alive: it has failed.",
        "State failed (failed), result exit-code, restarted by systemd 5 times, main process none, port 6817",
        "slurmctld: fatal: no such plugin",
        "What to do:",
    ):
        assert text in result["msg"]
    assert "-n 20 -u slurmctld" in journal.read_text()


@pytest.mark.parametrize(
    ("script", "text"),
    [("true", "(the journal has no line of slurmd)"), ("echo 'No journal files' >&2; exit 1", "No journal files")],
)
def test_no_journal(run_module: Any, program: Any, script: str, text: str) -> None:
    program("systemctl", "echo LoadState=loaded; echo ActiveState=failed")
    program("journalctl", script)
    assert text in run_module(service_alive, name="slurmd")["msg"]


def test_check_mode_waits_for_nothing(run_module: Any, program: Any) -> None:
    program("systemctl", "exit 1")
    result = run_module(service_alive, name="slurmd", _check=True)
    assert result["skipped"] is True
    assert result["changed"] is False


def test_no_systemd(run_module: Any, program: Any) -> None:
    program("systemctl", "echo 'Failed to connect to bus' >&2; exit 1")
    assert "Failed to connect to bus" in run_module(service_alive, name="slurmd")["msg"]
