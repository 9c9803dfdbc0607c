# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which jobs are made for which nodes, and in which order."""

from __future__ import annotations

from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import text
from ansible_collections.steelrack.gpu_cluster.plugins.modules.slurm_validation_jobs import jobs_for, partition_of


def node(state: str = "IDLE", cpus_allocated: int = 0, gpus_allocated: int = 0, **values: Any) -> dict[str, Any]:
    return {
        "flags": sorted(text.flags(state)),
        "cpus": 4,
        "cpus_allocated": cpus_allocated,
        "gpus": {"h100": 8},
        "gpus_allocated": gpus_allocated,
        "partitions": ["h100", "all"],
        **values,
    }


def request(name: str, *gpu_types: str) -> dict[str, Any]:
    return {"name": name, "cpus": 1, "gpu_types": list(gpu_types), "files": []}


def test_one_job_for_a_node_and_one_for_each_further_gpu_type() -> None:
    registered = {"cpu1": node(gpus={}), "gpu1": node()}
    jobs = jobs_for([request("cpu1"), request("gpu1", "a100", "a100_1g.10gb")], registered, "all")
    assert [(job.node, job.gpu_type, job.partition) for job in jobs] == [
        ("cpu1", None, "all"),
        ("gpu1", "a100", "all"),
        ("gpu1", "a100_1g.10gb", "all"),
    ]


def test_nodes_that_take_no_jobs_get_none() -> None:
    registered = {"a": node("IDLE+DRAIN"), "b": node("MAINT"), "c": node(partitions=[]), "e": node("MIXED+PLANNED")}
    assert [job.node for job in jobs_for([request(name) for name in "abcde"], registered, "")] == ["e"]


def test_nodes_with_free_resources_go_first() -> None:
    registered = {
        "full": node("ALLOCATED", cpus_allocated=4),
        "gpus": node("MIXED", gpus_allocated=8),
        "half": node("MIXED", cpus_allocated=2),
        "idle": node(),
    }
    jobs = jobs_for([request(name) for name in registered], registered, "all")
    assert [job.node for job in jobs] == ["idle", "half", "full", "gpus"]


def test_partition() -> None:
    assert partition_of(node(), "all") == "all"
    assert partition_of(node(), "other") == "h100"
