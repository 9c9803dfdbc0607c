# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: made with and without the controller, and nothing is touched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Play = Callable[..., Any]
# Connections to this port are refused at once.
DEAD = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_become": False}


def record(host: str) -> dict[str, Any]:
    """Return the record of a node with two cores and one GPU."""
    return {
        "schema": 1,
        "host": host,
        "taken_at": "2026-11-30T19:31:44Z",
        "cpu": {
            "architecture": "x86_64",
            "model": None,
            "sockets": 1,
            "cores_per_socket": 2,
            "threads_per_core": 1,
            "cpus": 2,
            "core_map": ["0-1"],
            "numa_nodes": [{"id": 0, "cpus": "0-1", "cores": "0-1", "memory_mib": 64000}],
            "offline": "",
        },
        "memory_mib": 64000,
        "gpus": [
            {
                "pci": "00000000:1b:00.0",
                "device_id": "2330",
                "minor": 0,
                "uuid": None,
                "product": "NVIDIA H100 80GB HBM3",
                "type": "nvidia_h100_80gb_hbm3",
                "memory_mib": 81559,
                "numa": 0,
                "cores": "0-1",
                "mig": {"mode": "disabled", "instances": []},
                "fabric": {"cluster_uuid": None, "clique": None, "state": None, "status": None},
                "problem": None,
            }
        ],
        "nvlinks": [],
        "nvidia": {"driver": None, "flavour": None, "nvswitch": None},
        "fabric": {"hcas": []},
        "problems": [],
    }


def inventory(controller: dict[str, Any], **variables: Any) -> dict[str, Any]:
    nodes = {name: {"node_hardware": record(name), **DEAD} for name in ("gpu1", "gpu2")}
    return {
        "all": {
            "vars": {"slurm_cluster_name": "rack", **variables},
            "children": {
                "slurm_controller": {"hosts": {"ctl1": controller}},
                "slurm_node": {"hosts": nodes},
            },
        }
    }


def test_plan_without_an_answer_of_the_controller(play: Play, tmp_path: Path) -> None:
    options = ("-e", f"plan_json={tmp_path}/plan.json")
    result = play(inventory(DEAD, slurm_version="24.11"), "plan.yml", options=options)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "gpu[1-2]" in result.stdout
    assert "gpu:h100:1" in result.stdout
    assert "ctl1 does not answer; compared with nothing." in result.stdout
    assert "+ClusterName=rack" in result.stdout
    assert "Nothing was changed." in result.stdout
    plan = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert [node["name"] for node in plan["nodes"]] == ["gpu1", "gpu2"]
    assert plan["change"]["action"] == "restart"


def test_two_controllers_have_a_line_each(play: Play) -> None:
    """TX#537: the second name on one line is not read."""
    hosts = inventory(DEAD, slurm_version="24.11")
    hosts["all"]["children"]["slurm_controller"]["hosts"]["ctl2"] = {**DEAD, "node_base_address": "10.0.0.2"}
    result = play(hosts, "plan.yml")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("+SlurmctldHost=") == 2
    assert "+SlurmctldHost=ctl2(10.0.0.2)" in result.stdout


def test_plan_without_a_version_says_what_to_set(play: Play) -> None:
    result = play(inventory(DEAD), "plan.yml")
    assert result.returncode != 0
    assert "Set slurm_version" in result.stdout


def test_plan_tells_everything_that_is_wrong_with_the_inventory_at_once(play: Play) -> None:
    wrong = {"slurm_settings": {"NodeName": "x"}, "slurm_version": "Debian", "slurm_partitions": [{"name": "a b"}]}
    result = play(inventory(DEAD, **wrong), "plan.yml")
    assert result.returncode != 0
    for problem_id in ("INV027", "INV028", "SLM026"):
        assert f"ERROR {problem_id} " in result.stdout
    assert "UNREACHABLE" not in result.stdout


def test_plan_compares_with_the_files_of_the_controller(play: Play, tmp_path: Path) -> None:
    conf_dir = tmp_path / "slurm"
    conf_dir.mkdir()
    (conf_dir / "slurm.conf").write_text("ClusterName=rack\nPartitionName=old Nodes=ALL\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in conf_dir.iterdir()}
    local = {
        "ansible_connection": "local",
        "ansible_become": False,
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }
    hosts = inventory(local, slurm_version="24.11", slurm_conf_dir=str(conf_dir))
    result = play(hosts, "plan.yml")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"Compared with the files in {conf_dir} on ctl1." in result.stdout
    assert "-PartitionName=old Nodes=ALL" in result.stdout
    assert {path.name: path.read_bytes() for path in conf_dir.iterdir()} == before
