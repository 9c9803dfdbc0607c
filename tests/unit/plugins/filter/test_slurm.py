# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters: what reaches the derivation from plain dictionaries and from Ansible's own hostvars."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.steelrack.gpu_cluster.plugins.filter import slurm
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
    gpu,
    hgx,
    ids,
    record,
)

SITE = {"cluster_name": "demo", "version": "24.11"}


def builtin_only(value: Any) -> bool:
    """Say whether a value is made of Python's own types to the last."""
    kind = type(value)  # not isinstance: Ansible's tagged values are subclasses, and none may be left
    if kind is dict:
        return all(builtin_only(key) and builtin_only(item) for key, item in value.items())
    if kind is list:
        return all(map(builtin_only, value))
    return kind in (str, int, bool, type(None))


def hostvars_of(
    folder: Path, hosts: Mapping[str, Mapping[str, Any]], group: Mapping[str, Any] | None = None
) -> HostVars:
    """Return Ansible's hostvars for an inventory with these hosts, variables laid out as in a real one."""
    inventory = {"slurm_node": {"hosts": dict.fromkeys(hosts), "vars": dict(group or {})}}
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    for host, variables in hosts.items():
        (folder / "host_vars" / host).mkdir(parents=True)
        (folder / "host_vars" / host / "hardware.yml").write_text(yaml.safe_dump(dict(variables)))
    loader = DataLoader()
    inventory_manager = InventoryManager(loader=loader, sources=[str(folder / "hosts.yml")])
    return HostVars(inventory_manager, VariableManager(loader=loader, inventory=inventory_manager), loader)


def test_all_filters_are_there_and_documented() -> None:
    filters = slurm.FilterModule().filters()
    assert set(filters) == {
        "cluster_addresses",
        "fold_nodes",
        "slurm_cluster",
        "slurm_node_name_fault",
        "slurm_version_known",
        "unfold_nodes",
    }
    folder = Path(slurm.__file__).parent
    for name in filters:
        assert yaml.safe_load((folder / f"{name}.yml").read_text())["DOCUMENTATION"]["name"] == name


def test_form_of_the_result() -> None:
    result = slurm.slurm_cluster(["gpu001"], {"gpu001": {"node_hardware": hgx(), "ansible_host": "10.0.0.1"}}, SITE)
    documented = yaml.safe_load((Path(slurm.__file__).parent / "slurm_cluster.yml").read_text())["RETURN"]["_value"]
    assert list(result) == list(documented["contains"])
    assert list(result["nodes"][0]) == list(documented["contains"]["nodes"]["contains"])
    assert list(result["partitions"][0]) == list(documented["contains"]["partitions"]["contains"])
    assert result["nodes"] == [
        {
            "name": "gpu001",
            "address": "10.0.0.1",
            "sockets": 2,
            "cores_per_socket": 56,
            "threads_per_core": 2,
            "cpus": 224,
            "real_memory": 2022400,
            "mem_spec_limit": None,
            "gres": "gpu:h100:8",
            "gpus": {"h100": 8},
            "features": ["h100", "h100-80gb", "8gpu"],
            "device_files": [f"/dev/nvidia{minor}" for minor in range(8)],
            "parameters": {},
        }
    ]
    assert json.loads(json.dumps(result)) == result


def test_ansibles_own_hostvars(tmp_path: Path) -> None:
    """Tagged texts, templates in variables, variables of groups, and hosts without any of them."""
    hostvars = hostvars_of(
        tmp_path,
        {
            "gpu001": {"node_hardware": hgx("gpu001"), "ansible_host": "10.0.0.{{ 1 }}", "slurm_node_rack": 7},
            "gpu002": {
                "node_hardware": hgx("gpu002"),
                "slurm_node_parameters": {"Weight": "{{ weight }}"},
                "weight": 10,
            },
            "gpu003": {},
        },
        {"slurm_node_features": ["{{ 'i' + 'b' }}"], "slurm_node_gpu_type_names": {"nvidia_h100_80gb_hbm3": "hopper"}},
    )
    result = slurm.slurm_cluster(["gpu003", "gpu002", "gpu001"], hostvars, {**SITE, "groups": {"a": ["gpu001"]}})
    assert builtin_only(result)
    assert result["node_lines"] == [
        "NodeName=gpu001 NodeAddr=10.0.0.1 CPUs=224 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=2022400 "
        "Gres=gpu:hopper:8 Feature=h100,h100-80gb,8gpu,rack-7,ib State=UNKNOWN",
        "NodeName=gpu002 CPUs=224 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=2022400 "
        "Gres=gpu:hopper:8 Feature=h100,h100-80gb,8gpu,ib Weight=10 State=UNKNOWN",
    ]
    assert result["left_out"] == ["gpu003"]
    assert ids(result) == ["SLM001"]
    assert slurm.cluster_addresses(["gpu001", "gpu002", "gpu003"], hostvars) == {
        "gpu001": "10.0.0.1",
        "gpu002": None,
        "gpu003": None,
    }


def test_record_given_by_a_template(tmp_path: Path) -> None:
    hostvars = hostvars_of(tmp_path, {"n1": {"node_hardware": "{{ twin }}", "twin": record("n1", [gpu(1, 0)])}})
    result = slurm.slurm_cluster(["n1"], hostvars, SITE)
    assert result["nodes"][0]["gpus"] == {"h100": 1}
    assert builtin_only(result)


def test_host_that_is_not_in_the_inventory(tmp_path: Path) -> None:
    hostvars = hostvars_of(tmp_path, {"n1": {}})
    assert slurm.slurm_cluster(["n9"], hostvars, SITE)["left_out"] == ["n9"]
    assert slurm.slurm_cluster(["n9"], {}, SITE)["left_out"] == ["n9"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("slurm_node_parameters", ["Weight=1"]), ("slurm_node_features", "ib"), ("slurm_node_gpu_type_names", "h100")],
)
def test_variable_of_a_wrong_type(name: str, value: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=f"{name} of n1"):
        slurm.slurm_cluster(["n1"], {"n1": {"node_hardware": record("n1"), name: value}}, SITE)


def test_empty_variables_count_as_unset() -> None:
    variables = {"slurm_node_parameters": None, "slurm_node_features": "", "slurm_node_rack": None, "ansible_host": ""}
    result = slurm.slurm_cluster(["n1"], {"n1": {"node_hardware": record("n1"), **variables}}, SITE)
    assert result["problems"] == []


@pytest.mark.parametrize("setting", [{"memory_reserve_mib": "much"}, {"memory_reserve_percent": None}])
def test_setting_of_a_wrong_type(setting: dict[str, Any]) -> None:
    with pytest.raises(AnsibleFilterError, match="site settings"):
        slurm.slurm_cluster([], {}, {**SITE, **setting})


@pytest.mark.parametrize("names", [["n2", "n1"], iter(["n1", "n2"]), ("n1", "n2", "n2")])
def test_fold_and_unfold(names: Iterable[str]) -> None:
    assert slurm.fold_nodes(names) == "n[1-2]"
    assert slurm.unfold_nodes("n[1-2]") == ["n1", "n2"]


def test_host_list_that_slurm_does_not_read() -> None:
    with pytest.raises(AnsibleFilterError, match="text after the last bracket"):
        slurm.unfold_nodes("n[1-2].example.org")


def test_small_filters() -> None:
    assert slurm.slurm_node_name_fault("gpu1") == ""
    assert "upper-case" in slurm.slurm_node_name_fault("GPU1")
    assert slurm.slurm_version_known("24.11.5")
    assert not slurm.slurm_version_known("1.2")
