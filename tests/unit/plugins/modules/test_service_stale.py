# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""service_stale against a stand-in for systemctl."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.modules import service_stale

START = 1_796_067_104_500_000  # microseconds since the epoch: 2026-11-30 19:31:44.5 UTC
UNIT = """LoadState=loaded
ActiveState={state}
SubState=running
Result=success
MainPID=77
NRestarts=0
ExecMainStartTimestamp={stamp}
ExecMainStartTimestampMonotonic=100"""


@pytest.fixture
def unit(program: Any) -> Any:
    """Return a function that decides what systemctl says."""

    def say(state: str = "active", stamp: str = "Mon 2026-11-30 19:31:44.500000 UTC") -> None:
        program("systemctl", f"cat <<'END'\n{UNIT.format(state=state, stamp=stamp)}\nEND")

    say()
    return say


def at(path: Path, microseconds: int) -> str:
    """Make a file whose time of change is ``microseconds`` after the epoch."""
    path.write_text("x", encoding="utf-8")
    os.utime(path, ns=(microseconds * 1000, microseconds * 1000))
    return str(path)


@pytest.mark.parametrize(
    ("offset", "stale"),
    [(-1_000_000, False), (-1, False), (0, False), (1, True), (1_000_000, True)],
)
def test_a_file_counts_to_the_microsecond(run_module: Any, unit: Any, tmp_path: Path, offset: int, stale: bool) -> None:
    path = at(tmp_path / "slurm.conf", START + offset)
    result = run_module(service_stale, name="slurmd", files=[str(tmp_path / "absent"), path])
    assert result["changed"] is stale
    assert result["reason"] == (f"slurmd started before {path} changed" if stale else "")
    assert result["active"] is True
    assert result["started_at"] == START / 1e6


def test_the_newest_file_counts(run_module: Any, unit: Any, tmp_path: Path) -> None:
    old, new = at(tmp_path / "a", START - 5), at(tmp_path / "b", START + 5)
    assert new in run_module(service_stale, name="slurmd", files=[new, old])["reason"]


@pytest.mark.parametrize(("since", "stale"), [(START / 1e6 - 1, False), (START / 1e6 + 0.001, True), (None, False)])
def test_since(run_module: Any, unit: Any, since: float | None, stale: bool) -> None:
    assert run_module(service_stale, name="slurmd", since=since)["changed"] is stale


@pytest.mark.parametrize(
    ("state", "stale"),
    [("active", False), ("reloading", False), ("inactive", True), ("failed", True), ("activating", True)],
)
def test_a_unit_that_does_not_run_is_stale(run_module: Any, unit: Any, state: str, stale: bool) -> None:
    unit(state=state)
    result = run_module(service_stale, name="slurmd")
    assert result["changed"] is stale
    assert result["active"] is not stale


def test_unknown_start(run_module: Any, program: Any) -> None:
    program("systemctl", "echo LoadState=loaded; echo ActiveState=active; echo ExecMainStartTimestamp=")
    assert "does not know when" in run_module(service_stale, name="slurmd")["reason"]


@pytest.mark.parametrize("load_state", ["not-found", "masked", "bad-setting"])
def test_unusable_unit(run_module: Any, program: Any, load_state: str) -> None:
    program("systemctl", f"echo LoadState={load_state}; echo ActiveState=inactive")
    failed = run_module(service_stale, name="slurmd")
    assert failed["failed"] is True
    assert f"no usable unit slurmd (load state {load_state})" in failed["msg"]
    planned = run_module(service_stale, name="slurmd", _check=True)
    assert planned["changed"] is True
    assert planned["reason"] == "slurmd is not installed yet"


def test_no_systemd(run_module: Any, program: Any) -> None:
    program("systemctl", "echo 'System has not been booted with systemd' >&2; exit 1")
    assert "not been booted with systemd" in run_module(service_stale, name="slurmd")["msg"]
