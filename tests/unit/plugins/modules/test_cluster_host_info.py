# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module says of a unit."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.steelrack.gpu_cluster.plugins.modules.cluster_host_info import look

RUNNING = "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID=7\nNRestarts=2\n"
FAILED = "LoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nMainPID=0\nNRestarts=0\n"
ABSENT = "LoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\nNRestarts=0\n"


def asked(show: str, command: Sequence[str]) -> tuple[int, str, str]:
    return 0, show if command[0] == "systemctl" else "fatal: no configuration\n", ""


def test_running_unit() -> None:
    state = look(lambda command: asked(RUNNING, command), "slurmd")
    assert state == {"active": True, "state": "active (running)", "restarts": 2, "journal": ""}


def test_failed_unit_brings_its_journal() -> None:
    state = look(lambda command: asked(FAILED, command), "slurmd")
    assert (state["active"], state["state"], state["journal"]) == (False, "failed (failed)", "fatal: no configuration")


def test_unit_that_is_not_installed() -> None:
    state = look(lambda command: asked(ABSENT, command), "slurmd")
    assert (state["active"], state["state"]) == (False, "not installed")
