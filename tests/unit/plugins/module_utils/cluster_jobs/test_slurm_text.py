# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of Slurm's commands, as releases from 22.05 to 24.11 print it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import text


@pytest.mark.parametrize(
    ("state", "flags"),
    [
        ("IDLE", {"IDLE"}),
        ("idle*", {"IDLE", "NOT_RESPONDING"}),
        ("IDLE*+DRAIN", {"IDLE", "NOT_RESPONDING", "DRAIN"}),
        ("drain$", {"DRAIN", "MAINTENANCE"}),
        ("DRAINING", {"DRAIN"}),
        ("inval", {"INVALID"}),
        ("IDLE+INVALID_REG", {"IDLE", "INVALID"}),
        ("MIXED+PLANNED", {"MIXED", "PLANNED"}),
        ("mix-", {"MIXED", "PLANNED"}),
        ("plnd", {"PLANNED"}),
        ("resv", {"RESERVED"}),
        ("IDLE+MAINTENANCE+RESERVED", {"IDLE", "MAINTENANCE", "RESERVED"}),
        ("maint*", {"MAINTENANCE", "NOT_RESPONDING"}),
        ("idle~", {"IDLE", "POWERED_DOWN"}),
        ("alloc#", {"ALLOCATED", "POWERING_UP"}),
        ("ALLOCATED+COMPLETING", {"ALLOCATED", "COMPLETING"}),
        ("boot^", {"BOOT", "REBOOT_ISSUED"}),
        ("unk", {"UNKNOWN"}),
        ("", set()),
    ],
)
def test_flags(state: str, flags: set[str]) -> None:
    assert text.flags(state) == flags


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        ("IDLE", text.READY),
        ("ALLOCATED", text.READY),
        ("MIXED+PLANNED", text.READY),
        ("ALLOCATED+COMPLETING", text.READY),
        ("IDLE+DRAIN", text.OUT),
        ("idle*", text.OUT),
        ("DOWN*", text.OUT),
        ("inval", text.OUT),
        ("IDLE+FAIL", text.OUT),
        ("FUTURE", text.OUT),
        ("maint", text.SET_ASIDE),
        ("resv", text.SET_ASIDE),
        ("idle~", text.SET_ASIDE),
        ("IDLE+REBOOT_REQUESTED", text.SET_ASIDE),
        ("DOWN+DRAIN+MAINTENANCE", text.OUT),
    ],
)
def test_standing(state: str, standing: str) -> None:
    assert text.standing(text.flags(state)) == standing


@given(st.text(max_size=20))
def test_any_state_is_read(state: str) -> None:
    text.standing(text.flags(state))


@pytest.mark.parametrize(
    ("gres", "counts"),
    [
        ("", {}),
        ("gpu:8", {"": 8}),
        ("gpu:h100:8(S:0-1)", {"h100": 8}),
        ("gpu:a100:3(S:0,1),gpu:a100_3g.40gb:1(S:1),shard:8", {"a100": 3, "a100_3g.40gb": 1}),
        ("gpu:h100:4(S:0),gpu:h100:4(S:1)", {"h100": 8}),
        ("gpu", {}),
    ],
)
def test_gres(gres: str, counts: dict[str, int]) -> None:
    assert text.gres(gres) == counts


# One line as Slurm 24.11 prints it, and one as 22.05 does: other fields, a reason with blanks and a colon.
NEW = (
    "NodeName=gpu-with-a-very-long-name-0001 Arch=x86_64 CoresPerSocket=56  CPUAlloc=4 CPUEfctv=224 CPUTot=224 "
    "CPULoad=0.52 AvailableFeatures=h100 ActiveFeatures=h100 Gres=gpu:h100:8(S:0-1) NodeAddr=10.0.0.1 "
    "NodeHostName=gpu1 Version=24.11.5 OS=Linux 6.12.48 #1 SMP PREEMPT_DYNAMIC Debian 6.12.48-1  RealMemory=2022000 "
    "AllocMem=100 FreeMem=N/A Sockets=2 Boards=1 State=MIXED ThreadsPerCore=2 TmpDisk=0 "
    "Weight=1 Owner=N/A MCS_label=N/A Partitions=all,h100  "
    "BootTime=2026-11-30T19:30:00 CfgTRES=cpu=224,mem=2022000M,billing=224,gres/gpu=8,gres/gpu:h100=8 "
    "AllocTRES=cpu=4,mem=100M,gres/gpu=2,gres/gpu:h100=2 CurrentWatts=0 AveWatts=0 "
)
OLD = (
    "NodeName=cpu1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 CPUTot=2 CPULoad=N/A AvailableFeatures=(null) "
    "ActiveFeatures=(null) Gres=(null) NodeAddr=cpu1 NodeHostName=cpu1  RealMemory=1 AllocMem=0 FreeMem=N/A Sockets=1 "
    "Boards=1 State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A   BootTime=None "
    "CfgTRES=cpu=2,mem=1M,billing=2 AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s "
    "Reason=Low RealMemory: reported 900 < 1000 [slurm@2026-11-30T19:31:44]"
)


def test_nodes() -> None:
    nodes = text.nodes(f"{NEW}\n{OLD}\n\nNo nodes in the system\n")
    assert list(nodes) == ["gpu-with-a-very-long-name-0001", "cpu1"]
    busy, drained = nodes.values()
    assert busy["state"] == "MIXED"
    assert (busy["sockets"], busy["cores_per_socket"], busy["threads_per_core"], busy["cpus"]) == (2, 56, 2, 224)
    assert (busy["cpus_allocated"], busy["gpus_allocated"]) == (4, 2)
    assert busy["gpus"] == {"h100": 8}
    assert busy["partitions"] == ["all", "h100"]
    assert busy["version"] == "24.11.5"
    assert busy["reason"] == ""
    assert drained["flags"] == ["DRAIN", "IDLE"]
    assert drained["reason"] == "Low RealMemory: reported 900 < 1000"
    assert (drained["gpus"], drained["partitions"]) == ({}, [])


def test_rows_keep_the_separator_in_the_last_column() -> None:
    assert text.rows("1|a|b|c\nbroken\n", ["id", "rest"]) == [{"id": "1", "rest": "a|b|c"}]
