# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm_node_state against a stand-in for scontrol."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.modules import slurm_node_state
from ansible_collections.steelrack.gpu_cluster.plugins.modules.slurm_node_state import Node

LINES = "".join(
    f"NodeName={name} CoresPerSocket=56 State={state} ThreadsPerCore=2{rest}\n"
    for name, state, rest in (
        ("gpu1 Arch=x86_64 OS=Linux 6.1.0-18 #1 SMP Debian", "IDLE", " Weight=1 Partitions=all,h100"),
        ("gpu2", "MIXED+DRAIN", " Reason=steelrack: GPU003 GPU is lost [root@2026-11-30T19:31:44] Comment=x"),
        ("gpu3", "IDLE+DRAIN", " Reason=RMA 123, ask Ann [ann@2026-11-29T08:00:00]"),
        ("gpu4", "DOWN*", " Reason=Not responding [slurm@2026-11-30T19:31:44]"),
        (
            "gpu5",
            "DOWN*+DRAIN+INVALID_REG",
            " Reason=gres/gpu count reported lower than configured (7 < 8) [slurm@2026-11-30T19:31:44]",
        ),
        ("gpu6", "IDLE+DRAIN", ""),
        ("gpu8", "UNKNOWN+DRAIN", " Reason=steelrack: PCI001 gone [root@2026-11-30T19:31:44]"),
        ("gpu7", "DOWN*+DRAIN", " Reason=steelrack: PCI001 gone [root@2026-11-30T19:31:44]"),
    )
)


@pytest.fixture
def scontrol(program: Any) -> Any:
    """Install the stand-in; return the file in which the arguments of updates arrive."""
    return program(
        "scontrol",
        f"if [ \"$1\" = show ]; then cat <<'END'\n{LINES}END\nelse printf '<%s>' \"$@\" >> $LOG/scontrol; fi",
    )


@pytest.mark.parametrize(
    ("name", "state", "reason", "drained", "ours"),
    [
        ("gpu1", "IDLE", "", False, False),
        ("gpu2", "MIXED+DRAIN", "steelrack: GPU003 GPU is lost [root@2026-11-30T19:31:44]", True, True),
        ("gpu3", "IDLE+DRAIN", "RMA 123, ask Ann [ann@2026-11-29T08:00:00]", True, False),
        ("gpu4", "DOWN*", "Not responding [slurm@2026-11-30T19:31:44]", False, False),
        (
            "gpu5",
            "DOWN*+DRAIN+INVALID_REG",
            "gres/gpu count reported lower than configured (7 < 8) [slurm@2026-11-30T19:31:44]",
            True,
            False,
        ),
        ("gpu6", "IDLE+DRAIN", "", True, False),
    ],
)
def test_parse(name: str, state: str, reason: str, drained: bool, ours: bool) -> None:
    node = slurm_node_state.parse(LINES)[name]
    assert node == Node(name, state, reason)
    assert (node.drained, node.ours) == (drained, ours)


def test_a_reason_may_look_like_a_field() -> None:
    line = (
        "NodeName=a State=IDLE+DRAIN Reason=steelrack: INV003 Gres=gpu:8 is wrong [root@2026-11-30T19:31:44] Comment=b"
    )
    assert slurm_node_state.parse(line)["a"].text == "steelrack: INV003 Gres=gpu:8 is wrong"


def test_the_reason_without_user_and_time() -> None:
    assert slurm_node_state.parse(LINES)["gpu2"].text == "steelrack: GPU003 GPU is lost"
    assert Node("a", "IDLE", "steelrack: disk [sda]").text == "steelrack: disk [sda]"


def test_drain(run_module: Any, scontrol: Any) -> None:
    result = run_module(
        slurm_node_state,
        nodes=["gpu1", "gpu2", "gpu3", "gpu4"],
        state="drain",
        reason="GPU003 GPU\nis lost",
        _diff=True,
    )
    assert result["changed"] is True
    assert result["drained"] == ["gpu1", "gpu4"]
    assert result["left_alone"] == {"gpu3": "RMA 123, ask Ann [ann@2026-11-29T08:00:00]"}
    assert scontrol.read_text() == "<update><NodeName=gpu1,gpu4><State=DRAIN><Reason=steelrack: GPU003 GPU is lost>"
    assert "gpu1: drained, reason: steelrack: GPU003 GPU is lost\n" in result["diff"]["after"]


def test_drain_again_changes_nothing(run_module: Any, scontrol: Any) -> None:
    result = run_module(slurm_node_state, nodes=["gpu2"], state="drain", reason="steelrack: GPU003 GPU is lost")
    assert result["changed"] is False
    assert not scontrol.exists()


def test_our_own_reason_is_brought_up_to_date(run_module: Any, scontrol: Any) -> None:
    result = run_module(slurm_node_state, nodes=["gpu2"], state="drain", reason="GPU004 GPU overheats")
    assert result["drained"] == ["gpu2"]


def test_resume_only_what_is_ours(run_module: Any, scontrol: Any) -> None:
    result = run_module(slurm_node_state, nodes=[f"gpu{i}" for i in range(1, 9)], state="resume")
    assert result["resumed"] == ["gpu2", "gpu7"]
    assert sorted(result["left_alone"]) == ["gpu3", "gpu5", "gpu6", "gpu8"]
    assert result["left_alone"]["gpu6"] == "drained without a reason"
    assert scontrol.read_text() == "<update><NodeName=gpu2><State=RESUME><update><NodeName=gpu7><State=UNDRAIN>"


HARDWARE = "^steelrack: (CPU|MEM|PCI|GPU|MIG|FAB|REC)[0-9]{3} "


def test_only_what_the_task_itself_drained(run_module: Any, program: Any) -> None:
    """D#804: nodes that a person, or another playbook of ours, drained stay drained."""
    reasons = ("steelrack: GPU036 Xid 119", "steelrack: driver upgrade", "RMA 123", "steelrack: INV003 GPU036 in it")
    lines = "".join(
        f"NodeName=n{at} State=IDLE+DRAIN Reason={reason} [root@2026-11-30T19:31:44]\n"
        for at, reason in enumerate(reasons)
    )
    log = program(
        "scontrol", f'if [ "$1" = show ]; then cat <<\'END\'\n{lines}END\nelse echo "$@" >> $LOG/scontrol; fi'
    )
    nodes = [f"n{at}" for at in range(4)]
    result = run_module(slurm_node_state, nodes=nodes, state="resume", reason_match=HARDWARE)
    assert result["resumed"] == ["n0"]
    assert sorted(result["left_alone"]) == ["n1", "n2", "n3"]
    drained = run_module(slurm_node_state, nodes=nodes, state="drain", reason="GPU003 lost", reason_match=HARDWARE)
    assert drained["drained"] == ["n0"]
    assert log.read_text().splitlines() == [
        "update NodeName=n0 State=RESUME",
        "update NodeName=n0 State=DRAIN Reason=steelrack: GPU003 lost",
    ]


def test_a_pattern_that_is_none(run_module: Any, scontrol: Any) -> None:
    result = run_module(slurm_node_state, nodes=["gpu2"], state="resume", reason_match="(")
    assert "no regular expression" in result["msg"]


def test_check_mode(run_module: Any, scontrol: Any) -> None:
    assert run_module(slurm_node_state, nodes=["gpu2"], state="resume", _check=True)["changed"] is True
    assert not scontrol.exists()


def test_unknown_nodes_are_named(run_module: Any, scontrol: Any) -> None:
    result = run_module(slurm_node_state, nodes=["gpu1", "GPU2", "gpu99"], state="drain", reason="x")
    assert result["failed"] is True
    assert "does not know these nodes: GPU2, gpu99." in result["msg"]
    assert not scontrol.exists()


def test_no_nodes(run_module: Any, program: Any) -> None:
    program("scontrol", "exit 1")
    assert run_module(slurm_node_state, nodes=[], state="resume")["changed"] is False


def test_drain_needs_a_reason(run_module: Any, scontrol: Any) -> None:
    assert "reason" in run_module(slurm_node_state, nodes=["gpu1"], state="drain")["msg"]


def test_controller_down(run_module: Any, program: Any) -> None:
    program("scontrol", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    assert "Unable to contact slurm controller" in run_module(slurm_node_state, nodes=["gpu1"], state="resume")["msg"]


def test_refused_update(run_module: Any, program: Any) -> None:
    program(
        "scontrol",
        f"if [ \"$1\" = show ]; then cat <<'END'\n{LINES}END\nelse echo 'Invalid user id' >&2; exit 1; fi",
    )
    assert "Invalid user id" in run_module(slurm_node_state, nodes=["gpu2"], state="resume")["msg"]


def test_many_nodes_go_in_several_calls(run_module: Any, program: Any) -> None:
    calls = program(
        "scontrol",
        'if [ "$1" = show ]; then i=1; while [ $i -le 501 ]; do echo "NodeName=n$i State=IDLE"; i=$((i+1)); done\n'
        "else echo call >> $LOG/scontrol; fi",
    )
    run_module(slurm_node_state, nodes=[f"n{i}" for i in range(1, 502)], state="drain", reason="x")
    assert calls.read_text().splitlines() == ["call", "call"]
