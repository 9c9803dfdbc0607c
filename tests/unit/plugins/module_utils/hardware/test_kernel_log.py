# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of NVIDIA's kernel modules: which GPU, which code, how often, and what is over."""

from __future__ import annotations

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.kernel_log import Event, parse

GPU = "00000000:3b:00.0"


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (
            "[ 1843.308145] kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen",
            Event(GPU, 79, 1, 1843, "pid='<unknown>', name=<unknown>, GPU has fallen"),
        ),
        ("NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE", Event(GPU, 48, 1, None, "pid=1, DBE")),
        ("[    5.000001] NVRM: Xid (PCI:0000:3b:00.0): 62, 023f", Event(GPU, 62, 1, 5, "023f")),
        ("NVRM: Xid (0000:3b:00): 31, Ch 8", Event(GPU, 31, 1, None, "Ch 8")),
    ],
)
def test_xid(line: str, event: Event) -> None:
    assert parse([line]).xids == (event,)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            [
                "[ 1843.308145] NVRM: The NVIDIA GPU 0000:3b:00.0",
                "               NVRM: (PCI ID: 10de:26b5) installed in this system has",
                "               NVRM: fallen off the bus and is not responding to commands.",
            ],
            id="NVIDIA/NVSentinel#155 three lines without an Xid",
        ),
        pytest.param(["NVRM: GPU at PCI:0000:3b:00.0 has fallen off the bus."], id="one line, with PCI"),
        pytest.param(["NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."], id="one line"),
    ],
)
def test_fallen_off_without_a_number(lines: list[str]) -> None:
    (event,) = parse(lines).xids
    assert (event.address, event.code) == (GPU, 79)


def test_the_same_loss_is_told_once() -> None:
    log = parse(
        [
            "NVRM: GPU at PCI:0000:3b:00: GPU-5f1d2c3b-0001-4a6e-9d10-3c8e00000001",
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
            "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        ]
    )
    assert [(event.address, event.code, event.count) for event in log.xids] == [(GPU, 79, 1)]


def test_repeated_lines_are_counted_with_the_last_time() -> None:
    log = parse([f"[ {second}.5] NVRM: Xid (PCI:0000:3b:00): 119, Timeout" for second in (7, 9, 12)])
    assert [(event.count, event.last) for event in log.xids] == [(3, 12)]


def test_the_drivers_verdict() -> None:
    changed = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    log = parse(["NVRM: Xid (PCI:0000:3b:00): 119, x", f"NVRM: Xid (PCI:0000:3b:00): 154, {changed}"])
    assert log.recovery == {GPU: "GPU Reset Required"}
    assert [event.code for event in log.xids] == [119, 154]


def test_a_reset_gpu_is_well_again() -> None:
    """The driver takes its verdict back; what came before is over, what other GPUs had is not."""
    log = parse(
        [
            "NVRM: Xid (PCI:0000:3b:00): 119, x",
            "NVRM: Xid (PCI:0000:5e:00): 119, x",
            "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
            "NVRM: Xid (PCI:0000:3b:00): 31, later",
        ]
    )
    assert [(event.address, event.code) for event in log.xids] == [("00000000:5e:00.0", 119), (GPU, 31)]
    assert log.recovery == {GPU: "None"}


def test_nvswitch() -> None:
    log = parse(["nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"])
    assert log.sxids == (Event("00000000:c1:00.0", 20034, 1, None, "Fatal, Link 30 LTSSM Fault Up"),)
    assert log.xids == ()


def test_other_lines_are_passed_over() -> None:
    log = parse(["NVRM: loading NVIDIA UNIX Open Kernel Module", "EXT4-fs mounted", "NVRM: Xid is a word", ""])
    assert (log.xids, log.sxids, log.recovery) == ((), (), {})
