# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad inventories: one clear message, and the run stops before the next play touches anything."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Play = Callable[..., Any]
# No host of these inventories exists: contacting one would fail loudly.
UNREACHABLE = {"ansible_connection": "ssh", "ansible_host": "192.0.2.1"}


def record(host: str) -> dict[str, Any]:
    """Return a record of which little is known."""
    keys = ("architecture", "model", "sockets", "cores_per_socket", "threads_per_core", "cpus", "offline")
    return {
        "schema": 1,
        "host": host,
        "taken_at": None,
        "cpu": {**dict.fromkeys(keys), "core_map": [], "numa_nodes": []},
        "memory_mib": None,
        "gpus": [],
        "nvlinks": [],
        "nvidia": dict.fromkeys(("driver", "flavour", "nvswitch")),
        "fabric": {"hcas": []},
        "problems": [],
    }


def inventory(**changes: Any) -> dict[str, Any]:
    """Return a sound inventory; ``changes`` are variables of all hosts, or groups (``group_<name>``) to replace."""
    groups: dict[str, Any] = {
        "slurm_controller": {"ctl1": {}},
        "slurm_dbd": {"ctl1": {}},
        "mariadb": {"ctl1": {}},
        "slurm_node": {
            "gpu1": {"node_hardware": record("gpu1")},
            "gpu2": {"node_hardware": record("gpu2")},
        },
    }
    variables: dict[str, Any] = {"slurm_cluster_name": "rack", **UNREACHABLE}
    for name, value in changes.items():
        if name.startswith("group_"):
            groups[name.removeprefix("group_")] = value
        else:
            variables[name] = value
    return {"all": {"vars": variables, "children": {name: {"hosts": hosts} for name, hosts in groups.items()}}}


# Stands for the rest of the run.
NEXT_PLAY = [
    {
        "name": "Go on",
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"name": "Touch", "ansible.builtin.debug": {"msg": "touched={{ inventory_hostname }}"}}],
    }
]


@pytest.fixture
def checked(play: Play) -> Callable[..., Any]:
    """Return a function that runs the check and another play; the result says which hosts that one reached."""

    def run(hosts: dict[str, Any], *options: str) -> Any:
        result = play(hosts, "validate_inventory.yml", NEXT_PLAY, options=options)
        result.touched = sorted(re.findall(r"touched=(\S+)", result.stdout))
        return result

    return run


def test_sound_inventory_goes_on_with_every_host(checked: Callable[..., Any]) -> None:
    result = checked(inventory())
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.touched == ["ctl1", "gpu1", "gpu2"]
    assert "Remedy" not in result.stdout


BAD: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("no controller", {"group_slurm_controller": {}}, "INV001", ["slurm_controller"]),
    ("same name in another case", {"group_slurm_login": {"GPU1": {}}}, "INV002", ["GPU1 and gpu1"]),
    (
        "node name",
        {"group_slurm_node": {"gpu 1": {"node_hardware": record("gpu 1")}}},
        "INV003",
        ["gpu 1"],
    ),
    (
        "unknown schema",
        {"group_slurm_node": {"gpu1": {"node_hardware": {"schema": 2, "host": "gpu1"}}}},
        "INV010",
        ["gpu1", "node_hardware", "schema 2", "hardware.yml"],
    ),
    (
        "unknown node in a partition",
        {"slurm_partitions": [{"name": "big", "nodes": ["gpu[1-3]"]}]},
        "INV006",
        ["slurm_partitions", "big", "gpu3"],
    ),
    (
        "two default partitions",
        {"slurm_partitions": [{"name": "a", "default": True}, {"name": "b", "default": True}]},
        "INV007",
        ["slurm_partitions", "a and b"],
    ),
    ("no database", {"group_mariadb": {}}, "INV008", ["ctl1", "slurm_dbd_storage_host"]),
    ("no cluster name", {"slurm_cluster_name": None}, "INV017", ["slurm_cluster_name", "group_vars/all"]),
    ("unknown id", {"slurm_skip_problems": ["INV99"]}, "INV018", ["slurm_skip_problems", "INV99"]),
    ("wrong type", {"slurm_partitions": 5}, "INV015", ["slurm_partitions", "list"]),
    ("number for a dictionary", {"slurm_node_gpu_sharing": 5}, "INV015", ["slurm_node_gpu_sharing", "it is 5"]),
    ("template that fails", {"slurm_memory_reserve_mib": "{{ 1 / 0 }}"}, "INV026", ["reserve_mib", "division by zero"]),
    ("no such filter", {"slurm_settings": {"A": "{{ 1 | nope }}"}}, "INV026", ["slurm_settings", "nope"]),
    ("derived parameter", {"slurm_settings": {"nodeName": "x"}}, "INV027", ["slurm_settings", "NodeName"]),
]


@pytest.mark.parametrize(("changes", "problem_id", "words"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_bad_inventory_stops_before_anything_is_touched(
    checked: Callable[..., Any], changes: dict[str, Any], problem_id: str, words: list[str]
) -> None:
    result = checked(inventory(**changes))
    assert result.returncode != 0
    assert result.touched == []
    text = result.stdout + result.stderr
    assert f"ERROR {problem_id} " in text
    for word in (*words, "Remedy: "):
        assert word in text


def test_limit_does_not_hide_what_is_wrong_elsewhere(checked: Callable[..., Any]) -> None:
    hosts = inventory(slurm_partitions=[{"name": "big", "nodes": ["gpu9"]}])
    result = checked(hosts, "--limit", "gpu2")
    assert result.returncode != 0
    assert "INV006" in result.stdout
    assert result.touched == []


def test_empty_inventory_is_noticed(checked: Callable[..., Any]) -> None:
    result = checked({"all": {"hosts": {}}})
    assert result.returncode != 0
    assert "INV001" in result.stdout


def test_node_without_a_record_is_named_and_the_run_goes_on(checked: Callable[..., Any]) -> None:
    result = checked(inventory(group_slurm_node={"gpu1": {"node_hardware": record("gpu1")}, "gpu2": {}}))
    assert result.returncode == 0
    assert "WARNING INV012 gpu2" in result.stdout
    assert result.touched == ["ctl1", "gpu1", "gpu2"]


def test_misspelt_variable_is_shown_with_the_right_name_and_the_run_goes_on(checked: Callable[..., Any]) -> None:
    result = checked(inventory(munge_kei="x"))
    assert result.returncode == 0
    assert "munge_kei" in result.stdout
    assert "Was munge_key meant?" in result.stdout


def test_variable_that_needs_facts_is_left_to_its_role(checked: Callable[..., Any]) -> None:
    result = checked(inventory(slurm_partitions="{{ ansible_facts['site_partitions'] }}"))
    assert result.returncode == 0, result.stdout


def test_variables_that_the_record_would_hide_stop_the_run(checked: Callable[..., Any], tmp_path: Path) -> None:
    """The record is a file in host_vars/<node>/; beside that folder Ansible reads no host_vars/<node>.yml any more."""
    (tmp_path / "host_vars").mkdir()
    (tmp_path / "host_vars" / "gpu1.yml").write_text("slurm_node_rack: r1\n", encoding="utf-8")
    result = checked(inventory())
    assert result.returncode != 0
    assert "INV024 gpu1" in result.stdout
    assert f"mv {tmp_path}/host_vars/gpu1.yml {tmp_path}/host_vars/gpu1/main.yml" in " ".join(result.stdout.split())
    assert result.touched == []


def test_unknown_release_stops_only_that_host(play: Play) -> None:
    hosts = {"all": {"hosts": {"good": {"release": "13.1"}, "old": {"release": "11.9"}}}}
    facts = {"distribution": "Debian", "distribution_version": "{{ release }}", "cacheable": True}
    role = {"name": "steelrack.gpu_cluster.validate_inventory", "tasks_from": "facts"}
    tasks = [
        {"name": "Stand for gathered facts", "ansible.builtin.set_fact": facts},
        {"name": "Check the release", "ansible.builtin.import_role": role},
        {"name": "Touch", "ansible.builtin.debug": {"msg": "touched={{ inventory_hostname }}"}},
    ]
    result = play(hosts, [{"name": "Check releases", "hosts": "all", "gather_facts": False, "tasks": tasks}])
    assert result.returncode != 0
    assert "ERROR INV020 old: old runs Debian 11.9; supported are Debian 12 and 13, Ubuntu 22.04" in result.stdout
    assert re.findall(r"touched=(\S+)", result.stdout) == ["good"]
