# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups by records: names and summaries."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.hardware_groups import (
    KINDS,
    RecordFormError,
    domains,
    group_names,
    summary,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import Link, as_variable
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
    gpu,
    hgx,
    mig,
    record,
)

FAULT = {"id": "GPU003", "severity": "error", "host": "n1", "message": "m", "remedy": "r"}
SPLIT = record("n1", [gpu(1, 0), gpu(2, 1, "tesla_t4", instances=[mig("1g.10gb", 1, (3, 4))])])
FABRIC = as_variable("n1", [Link("mlx5_0", "LEAF-1", "0x1")], [Link("eth0", "mgmt.1", "m")])


@pytest.mark.parametrize(
    ("of", "fabric", "rack", "nvlink", "expected"),
    [
        (hgx("n1"), None, "", "", ["gpu_h100", "gpus_8"]),
        (record("n1"), None, "r 1", "", ["gpus_0", "rack_r_1"]),
        (SPLIT, None, "", "", ["gpu_h100", "gpu_t4", "gpus_2", "mig", "mig_1g_10gb"]),
        (hgx("n1"), FABRIC, "", "r1-2", ["gpu_h100", "gpus_8", "switch_LEAF_1", "switch_mgmt_1", "nvlink_r1_2"]),
        (record("n1", problems=[FAULT]), None, "", "", ["gpus_0", "has_problem"]),
        (record("n1", [gpu(1, None, kind=None)]), None, "", "", ["gpus_1"]),
        (record("n1", [gpu(1, 0, instances=[])]), None, "", "", ["gpu_h100", "gpus_1", "mig"]),
    ],
)
def test_groups(of: dict[str, Any], fabric: Any, rack: str, nvlink: str, expected: list[str]) -> None:
    found = summary(of, fabric, rack, nvlink)
    assert group_names(found, KINDS) == expected
    assert group_names(found, KINDS, "hw_") == [f"hw_{name}" for name in expected]


def test_chosen_kinds() -> None:
    assert group_names(summary(hgx("n1"), FABRIC, "r1", ""), ["rack", "gpu_type"]) == ["gpu_h100", "rack_r1"]


def test_summary_for_templates() -> None:
    assert summary(record("n1", [gpu(1, 0)], problems=[FAULT]), None, "r1", "").as_dict() == {
        "gpu_types": ["h100"],
        "gpu_count": 1,
        "mig": False,
        "mig_profiles": [],
        "rack": "r1",
        "switches": [],
        "nvlink_domain": "",
        "problems": ["GPU003"],
        "has_error": True,
        "cpus": 224,
        "memory_mib": 2063878,
    }


@pytest.mark.parametrize(
    ("of", "fabric", "words"),
    [
        ("text", None, "schema 1"),
        ({**hgx("n1"), "schema": 2}, None, "schema 1"),
        ({"schema": 1}, None, "gpus"),
        ({**hgx("n1"), "gpus": [7]}, None, "form of schema 1"),
        (hgx("n1"), {"schema": 9}, "node_fabric"),
    ],
)
def test_another_form(of: Any, fabric: Any, words: str) -> None:
    with pytest.raises(RecordFormError, match=words):
        summary(of, fabric, "", "")


def test_domains_are_named_like_blocks() -> None:
    fabric = {"cluster_uuid": "c1", "clique": 1, "state": "Completed", "status": "Success"}
    inside = record("n1", [gpu(1, 0, fabric=fabric)])
    assert domains({"n1": inside, "n2": inside, "n3": hgx("n3"), "n4": "text"}, {"n1": "r1", "n2": "r1"}) == {
        "n1": "r1",
        "n2": "r1",
    }
