# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG devices: names, capability numbers, device files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import mig, nvidia
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence

LIST = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-b)
  MIG 1c.3g.40gb  Device  0: (UUID: MIG-0)
  MIG 1c.3g.40gb  Device  1: (UUID: MIG-1)
  MIG 1g.10gb+me  Device  2: (UUID: MIG-2)
Unable to determine the device handle for gpu 0000:3B:00.0: Unknown Error
  MIG 1g.10gb     Device  0: (UUID: MIG-of-nobody)
GPU 3: NVIDIA A100-SXM4-40GB (UUID: GPU-c)
  MIG 1g.5gb Device 0: (UUID: MIG-GPU-c/7/0)
"""
CAPABILITIES = "config 1\nmonitor 2\ngpu4/gi7/access 606\ngpu4/gi7/ci0/access 607\ngpu4/gi7/ci1/access 608\n"
TABLE = {"proc/driver/nvidia-caps/mig-minors": CAPABILITIES}
NAMES = {"GPU-b": {0: mig.MigName("1c.2g.20gb", "MIG-0"), 1: mig.MigName("1c.2g.20gb", "MIG-1")}}


def gpu(mode: str | None, *devices: nvidia.MigDevice, pending: str | None = None) -> nvidia.SmiGpu:
    """Return a GPU of a report with this MIG state."""
    return nvidia.SmiGpu(
        "00000000:1b:00.0", "NVIDIA X", "GPU-b", 4, 1, mode, pending or mode, devices, nvidia.Fabric(), None
    )


TWO = (nvidia.MigDevice(0, 7, 0, 20096), nvidia.MigDevice(1, 7, 1, 20096))


def test_list_of_devices() -> None:
    assert mig.parse_list(LIST) == {
        "GPU-a": {},
        "GPU-b": {
            0: mig.MigName("1c.3g.40gb", "MIG-0"),
            1: mig.MigName("1c.3g.40gb", "MIG-1"),
            2: mig.MigName("1g.10gb+me", "MIG-2"),
        },
        "GPU-c": {0: mig.MigName("1g.5gb", "MIG-GPU-c/7/0")},
    }


def test_capabilities() -> None:
    assert mig.parse_capabilities(CAPABILITIES) == {(4, 7): 606, (4, 7, 0): 607, (4, 7, 1): 608}


def test_two_compute_instances_share_the_file_of_their_gpu_instance(evidence: Callable[..., Evidence]) -> None:
    section, problems = mig.describe(evidence(TABLE), "gpu001", gpu("enabled", *TWO), 4, NAMES)
    assert problems == []
    assert section["mode"] == "enabled"
    assert [instance["files"] for instance in section["instances"]] == [
        ["/dev/nvidia4", "/dev/nvidia-caps/nvidia-cap606", "/dev/nvidia-caps/nvidia-cap607"],
        ["/dev/nvidia4", "/dev/nvidia-caps/nvidia-cap606", "/dev/nvidia-caps/nvidia-cap608"],
    ]
    assert section["instances"][1] == {
        "profile": "1c.2g.20gb",
        "gi": 7,
        "ci": 1,
        "uuid": "MIG-1",
        "memory_mib": 20096,
        "files": section["instances"][1]["files"],
    }


@pytest.mark.parametrize(
    ("state", "names", "table", "minor", "ids"),
    [
        pytest.param(gpu("disabled"), {}, TABLE, 4, [], id="off"),
        pytest.param(gpu(None), {}, TABLE, 4, [], id="not capable"),
        pytest.param(gpu("disabled", pending="enabled"), {}, TABLE, 4, ["MIG004"], id="pending"),
        pytest.param(gpu("enabled"), {}, TABLE, 4, ["MIG001"], id="on without instances"),
        pytest.param(gpu("enabled", pending="disabled"), {}, TABLE, 4, ["MIG001", "MIG004"], id="on, empty, pending"),
        pytest.param(gpu("enabled", *TWO), {}, TABLE, 4, ["MIG002"], id="no names"),
        pytest.param(gpu("enabled", TWO[0]), NAMES, TABLE, 4, ["MIG002"], id="more names than devices"),
        pytest.param(gpu("enabled", *TWO), NAMES, {}, 4, ["MIG003"], id="no capability table"),
        pytest.param(gpu("enabled", *TWO), NAMES, TABLE, 5, ["MIG003"], id="GPU not in the table"),
        pytest.param(gpu("enabled", *TWO), NAMES, TABLE, None, ["MIG003"], id="no minor number"),
    ],
)
def test_problems(
    evidence: Callable[..., Evidence],
    state: nvidia.SmiGpu,
    names: Mapping[str, Mapping[int, mig.MigName]],
    table: dict[str, str],
    minor: int | None,
    ids: list[str],
) -> None:
    section, problems = mig.describe(evidence(table), "gpu001", state, minor, names)
    assert [problem.id for problem in problems] == ids
    assert section["mode"] == state.mig_mode
    assert len(section["instances"]) == len(state.mig_devices)
