# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of the plan: folded nodes, differences, and what each change takes."""

from __future__ import annotations

from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import make
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import classify
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.plan_report import diffs, node_rows, plan_text


def node(name: str, gres: str = "gpu:h100:8", memory: int = 2000000) -> dict[str, Any]:
    return {
        "name": name,
        "sockets": 2,
        "cores_per_socket": 56,
        "threads_per_core": 2,
        "real_memory": memory,
        "gres": gres,
        "features": ["h100", "rack_a"],
    }


CLUSTER: dict[str, Any] = {
    "nodes": [*(node(f"gpu{number:03}") for number in range(1, 65)), node("gpu065", "gpu:h100:7")],
    "partitions": [
        {"name": "all", "nodes": "gpu[001-065]", "default": True},
        {"name": "h100", "nodes": "gpu[001-064]", "default": False},
    ],
    "left_out": ["gpu066", "gpu067"],
    "problems": [],
}
OLD = {"slurm.conf": "ClusterName=a\nNodeName=gpu001 CPUs=1\nPartitionName=all Nodes=gpu001 MaxTime=60\n"}
NEW = {"slurm.conf": "ClusterName=a\nNodeName=gpu001 CPUs=1\nPartitionName=all Nodes=gpu001 MaxTime=90\n"}


def test_equal_nodes_are_one_row() -> None:
    assert node_rows(CLUSTER) == [
        ("gpu[001-064]", "64", "2 x 56 x 2", "2000000", "gpu:h100:8", "h100,rack_a", "all*,h100"),
        ("gpu065", "1", "2 x 56 x 2", "2000000", "gpu:h100:7", "h100,rack_a", "all*"),
    ]


def test_diff_shows_only_what_differs() -> None:
    text = diffs({**OLD, "gres.conf": "same\n"}, {**NEW, "gres.conf": "same\n"})
    assert "-PartitionName=all Nodes=gpu001 MaxTime=60" in text
    assert "+PartitionName=all Nodes=gpu001 MaxTime=90" in text
    assert "gres.conf" not in text


def test_report_names_parameter_values_and_action() -> None:
    text = plan_text(CLUSTER, NEW, OLD, classify(OLD, NEW, "24.11").as_dict(), ["Compared with the files on ctl1."])
    assert "gpu[066-067]: no usable hardware record" in text
    assert "Compared with the files on ctl1." in text
    row = next(line for line in text.splitlines() if line.startswith("all MaxTime"))
    assert row.split() == ["all", "MaxTime", "60", "90", "reconfigure"]
    assert text.endswith("Nothing was changed.")


def test_report_of_a_first_configuration() -> None:
    text = plan_text(CLUSTER, NEW, {}, classify({}, NEW, "24.11").as_dict())
    assert "+ClusterName=a" in text
    assert "restart of slurmctld" in text


def test_report_without_a_difference() -> None:
    text = plan_text({**CLUSTER, "left_out": []}, NEW, NEW, classify(NEW, NEW, "24.11").as_dict())
    assert "DIFFERENCES\nnone" in text
    assert "nothing has to be restarted" in text
    assert "LEFT OUT" not in text


def test_problems_are_part_of_the_report() -> None:
    problem = make("INV012", "gpu9", names="gpu9").as_dict()
    text = plan_text({**CLUSTER, "problems": [problem]}, NEW, NEW, classify(NEW, NEW, "24.11").as_dict())
    assert "WARNING INV012 gpu9" in text


def test_table_of_the_report_fits_the_terminal() -> None:
    wide = node("gpu-with-a-very-long-name-001", "gpu:nvidia_h100_80gb_hbm3:8,gpu:nvidia_a100_1g.5gb:7")
    cluster = {**CLUSTER, "nodes": [*CLUSTER["nodes"], wide]}
    text = plan_text(cluster, NEW, NEW, classify(NEW, NEW, "24.11").as_dict())
    assert all(len(line) <= 100 for line in text.splitlines())
