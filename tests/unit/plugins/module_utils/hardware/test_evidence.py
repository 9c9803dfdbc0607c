# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where facts come from: layers of roots, live commands, and what is kept of both."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import evidence as evidence_module
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import (
    COMMAND_MISSING,
    COMMAND_TIMED_OUT,
    Command,
    Evidence,
    EvidenceError,
    command_file,
)

Make = Callable[..., Evidence]


def test_first_root_that_has_a_file_wins(evidence: Make) -> None:
    layers = evidence({"sys/a": "upper\n"}, {"sys/a": "lower\n", "sys/b": "only\n"})
    assert (layers.read("/sys/a"), layers.read("/sys/b"), layers.read("/sys/c")) == ("upper", "only", None)


def test_first_root_that_has_a_folder_wins(evidence: Make) -> None:
    layers = evidence({"sys/gpus/two": ""}, {"sys/gpus/one": "", "sys/cpus/zero": ""})
    assert layers.names("/sys/gpus") == ["two"]
    assert layers.names("/sys/cpus") == ["zero"]
    assert layers.names("/sys/none") is None


def test_recorded_command_with_its_status(evidence: Make) -> None:
    recorded = evidence({"commands/nvidia-smi_-L": "No devices\n", "commands/nvidia-smi_-L.rc": "6\n"})
    assert recorded.run("nvidia-smi", "-L") == Command(6, "No devices\n")
    assert recorded.run("nvidia-smi", "-q", "-x") == Command(COMMAND_MISSING, "")


def test_status_that_is_no_number(evidence: Make) -> None:
    recorded = evidence({"commands/uname_-m": "x86_64\n", "commands/uname_-m.rc": "bad\n"})
    with pytest.raises(EvidenceError, match=r"uname_-m\.rc"):
        recorded.run("uname", "-m")


def test_what_is_no_file_is_not_waited_for(lay: Callable[..., str]) -> None:
    """A pipe in a bundle would keep the run for ever."""
    root = lay({"commands/uname_-m": "x86_64\n", "sys/a": "text\n"})
    for name in ("commands/uname_-m", "commands/nvidia-smi_-L", "sys/a", "sys/b"):
        path = Path(root) / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    (Path(root) / "sys" / "loop").symlink_to("loop")
    (Path(root) / "sys" / "folder").mkdir()
    bundle = Evidence([root])
    assert [bundle.read(f"/sys/{name}") for name in ("a", "b", "loop", "folder")] == [None] * 4
    assert bundle.run("uname", "-m") == bundle.run("nvidia-smi", "-L") == Command(COMMAND_MISSING, "")


def test_a_bundle_never_runs_anything(evidence: Make) -> None:
    assert evidence({}).run("uname", "-m").status == COMMAND_MISSING


def test_live_commands_run_in_the_c_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA/deepops#1321 #1364: no decimal commas, whatever locale the node has."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert "LC_ALL=C\n" in Evidence(["/"]).run("env").output


def test_live_command_that_is_missing() -> None:
    assert Evidence(["/"]).run("no-such-command-here") == Command(COMMAND_MISSING, "")


def test_live_command_that_hangs_is_stopped_with_its_children() -> None:
    start = time.monotonic()
    assert Evidence(["/"], timeout=0.3).run("sh", "-c", "sleep 30 & sleep 30") == Command(COMMAND_TIMED_OUT, "")
    assert time.monotonic() - start < 5


def test_live_command_that_cannot_even_be_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hung driver leaves nvidia-smi in uninterruptible sleep; here SIGKILL is simply not sent."""
    monkeypatch.setattr(evidence_module, "_GRACE", 0.2)
    pids: list[int] = []
    kill = evidence_module.os.killpg
    monkeypatch.setattr(evidence_module.os, "killpg", lambda pid, _signal: pids.append(pid))
    assert Evidence(["/"], timeout=0.2).run("sleep", "30").status == COMMAND_TIMED_OUT
    kill(pids[0], 9)


def test_upper_root_serves_a_command_instead_of_the_machine(lay: Callable[..., str]) -> None:
    root = lay({"commands/uname_-m": "riscv64\n"})
    assert Evidence([root, "/"]).run("uname", "-m").output == "riscv64\n"


@pytest.mark.parametrize(
    ("roots", "words"), [([], "empty"), (["/no/such/folder"], "/no/such/folder"), (["/etc/hostname"], "not a folder")]
)
def test_roots_that_cannot_be_used(roots: list[str], words: str) -> None:
    with pytest.raises(EvidenceError, match=words):
        Evidence(roots)


def test_what_was_read_is_a_bundle_with_the_same_answers(evidence: Make) -> None:
    first = evidence(
        {
            "sys/a": "text\n",
            "sys/long": "0123456789",
            "sys/folder/link": "",
            "commands/nvidia-smi_-L": "out\n",
            "commands/nvidia-smi_-L.rc": "9\n",
            "sys/unread": "secret",
        }
    )

    def ask(source: Evidence) -> list[object]:
        return [
            source.read("/sys/a"),
            source.read_bytes("/sys/long", limit=4),
            source.exists("/sys/folder/link"),
            source.exists("/sys/none"),
            source.run("nvidia-smi", "-L"),
            source.run("nvidia-smi", "-q"),
        ]

    answers = ask(first)
    assert ask(evidence(first.taken)) == answers
    assert "sys/unread" not in first.taken
    assert first.taken["sys/long"] == b"0123"


def test_an_empty_folder_stays_a_folder_in_the_bundle(tmp_path: Path, evidence: Make) -> None:
    (tmp_path / "sys" / "bus").mkdir(parents=True)
    source = Evidence([str(tmp_path)])
    assert source.names("/sys/bus") == []
    assert evidence(source.taken).names("/sys/bus") == []


def test_unreadable_file_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "sys" / "folder").mkdir(parents=True)
    assert Evidence([str(tmp_path)]).read("/sys/folder") is None


def test_command_file_names() -> None:
    assert command_file(["cat", "/etc/os-release"]) == "cat_-etc-os-release"
