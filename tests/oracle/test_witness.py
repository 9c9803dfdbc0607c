# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's own detection (AutoDetect=nvidia, from 24.11 on) on the same evidence: the same types, devices and cores.

Only what slurmd reads is laid before it: /proc/driver/nvidia and the list of near CPUs in sysfs.
"""

from __future__ import annotations

from collections import Counter

import pytest
from cases import Case
from conftest import CASES, Oracle, seen_by_driver
from slurm import RELEASES, Answer, Slurm

# AutoDetect=nvidia knows no MIG; the name of a lost card is Unknown to it.
WITNESSED = [
    case
    for case in CASES.values()
    if seen_by_driver(case) and not case.refused and not case.variables and case.name != "h100-lost-gpu"
]


@pytest.mark.parametrize("case", WITNESSED, ids=[case.name for case in WITNESSED])
@pytest.mark.parametrize("slurm", RELEASES[1:], ids=[f"slurm-{release.series}" for release in RELEASES[1:]])
def test_own_detection_agrees(oracle: Oracle, slurm: Slurm, case: Case, witness: tuple[Answer, Answer]) -> None:
    layout, devices = witness
    record = oracle.records[case.name]
    counts = Counter(gpu["type"] for gpu in record["gpus"])
    assert sorted(layout.words["Gres"].split(",")) == sorted(f"gpu:{kind}:{count}" for kind, count in counts.items())
    expected = {f"/dev/nvidia{gpu['minor']}": gpu for gpu in record["gpus"]}
    assert sorted(device.files for device in devices.devices) == sorted(expected)
    for device in devices.devices:
        gpu = expected[device.files]
        assert device.kind == gpu["type"]
        # Where nothing is known slurmd takes core 0, or what its broken map of CPUs gives; the record says unknown.
        assert gpu["cores"] is None or device.cores == gpu["cores"]
