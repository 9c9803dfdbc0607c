# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action fabric_record: one file a node, joined by GUID, written only where something changes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml
from ansible.errors import AnsibleActionFail

from ansible_collections.steelrack.gpu_cluster.plugins.action import fabric_record
from ansible_collections.steelrack.gpu_cluster.plugins.modules import fabric_record as documented
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import record

FABRIC = """\
Switch	65 "S-0000000000000001"		# "MF0;LEAF-1:MQM9701/U1" enhanced port 0 lid 73 lmc 0
[1]	"H-00000000000000a1"[1](00000000000000a1) 		# "localhost mlx5_0" lid 647 4xNDR
[2]	"H-00000000000000b1"[1](00000000000000b1) 		# "gpu2 mlx5_0" lid 641 4xNDR
"""
LLDP = "lldp.eth0.via=LLDP\nlldp.eth0.chassis.mac=aa\nlldp.eth0.chassis.name=mgmt: 1\nlldp.eth0.port.ifname=7\n"
NODES = ["gpu1", "gpu2", "gpu3"]


def hca(number: int, state: str = "active") -> dict[str, Any]:
    """Return an adapter of a record."""
    ports = [{"port": 1, "guid": None, "state": state, "link_layer": "InfiniBand"}]
    return {"name": "mlx5_3", "guid": f"0x{number:016x}", "ports": ports}


def hostvars(**adapters: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the variables of nodes with these adapters."""
    return {name: {"node_hardware": record(name, fabric={"hcas": hcas})} for name, hcas in adapters.items()}


def run(
    folder: Path, variables: dict[str, Any] | None = None, check_mode: bool = False, **options: Any
) -> dict[str, Any]:
    """Return the result of the action."""
    task = MagicMock(args={"dir": str(folder), "nodes": NODES, **options}, async_val=0, check_mode=check_mode)
    action = fabric_record.ActionModule(
        task=task,
        connection=MagicMock(),
        play_context=MagicMock(),
        loader=MagicMock(),
        templar=MagicMock(),
        shared_loader_obj=MagicMock(),
    )
    return action.run(None, {"hostvars": variables or {}})


def kept(folder: Path, node: str) -> dict[str, Any]:
    """Return what is kept of a node."""
    value: dict[str, Any] = yaml.safe_load((folder / node / "fabric.yml").read_text())["node_fabric"]
    return value


def ids(result: dict[str, Any]) -> list[str]:
    """Return the ids of the problems of a result."""
    return [problem["id"] for problem in result["problems"]]


def test_first_run(tmp_path: Path) -> None:
    variables = hostvars(gpu1=[hca(0xA1)], gpu3=[hca(0xC1, "down")])
    lldp = {"gpu1": {"lldp": LLDP, "default_interfaces": ["eth0"]}, "gpu3": {"lldp": None, "default_interfaces": []}}
    result = run(tmp_path, variables, infiniband=FABRIC, lldp=lldp)
    assert (result["changed"], result["nodes"]) == (True, ["gpu1", "gpu2"])
    assert kept(tmp_path, "gpu1") == {
        "schema": 1,
        "host": "gpu1",
        "infiniband": [{"adapter": "mlx5_3", "switch": "LEAF-1", "id": "0x0000000000000001", "port": "1"}],
        "lldp": [{"adapter": "eth0", "switch": "mgmt: 1", "id": "aa", "port": "7", "default_route": True}],
    }
    assert [cable["adapter"] for cable in kept(tmp_path, "gpu2")["infiniband"]] == ["mlx5_0"]
    assert stat.S_IMODE((tmp_path / "gpu1" / "fabric.yml").stat().st_mode) == 0o644
    assert os.listdir(tmp_path / "gpu1") == ["fabric.yml"]
    # gpu2 is known by its name only; gpu3 has no active port, so nobody misses it.
    assert ids(result) == ["SLM073"]


def test_second_run_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path, infiniband=FABRIC)
    before = (tmp_path / "gpu2" / "fabric.yml").stat().st_mtime_ns
    assert run(tmp_path, infiniband=FABRIC)["changed"] is False
    assert (tmp_path / "gpu2" / "fabric.yml").stat().st_mtime_ns == before


def test_check_mode_writes_nothing(tmp_path: Path) -> None:
    result = run(tmp_path, check_mode=True, infiniband=FABRIC)
    assert (result["changed"], os.listdir(tmp_path)) == (True, [])
    assert result["diff"][0]["after"].startswith("# Written by the playbook")


def test_node_that_is_down_keeps_its_place(tmp_path: Path) -> None:
    variables = hostvars(gpu1=[hca(0xA1)], gpu2=[hca(0xB1)])
    run(tmp_path, variables, infiniband=FABRIC, lldp={"gpu2": {"lldp": LLDP, "default_interfaces": []}})
    without = "\n".join(line for line in FABRIC.splitlines() if "gpu2" not in line)
    result = run(tmp_path, variables, infiniband=without)
    assert (result["changed"], ids(result)) == (False, ["SLM074"])
    assert len(kept(tmp_path, "gpu2")["infiniband"]) == 1


def test_moved_cable_changes_one_line(tmp_path: Path) -> None:
    variables = hostvars(gpu1=[hca(0xA1)], gpu2=[hca(0xB1)])
    run(tmp_path, variables, infiniband=FABRIC)
    result = run(tmp_path, variables, infiniband=FABRIC.replace("[1]\t", "[9]\t"))
    assert result["nodes"] == ["gpu1"]
    before, after = (result["diff"][0][side].splitlines() for side in ("before", "after"))
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_file_that_cannot_be_read_is_told_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "gpu2").mkdir()
    (tmp_path / "gpu2" / "fabric.yml").write_text("node_fabric: {schema: 7}\n")
    assert "SLM075" in ids(run(tmp_path, infiniband=FABRIC))
    assert kept(tmp_path, "gpu2")["schema"] == 1


def test_variables_in_a_file_of_the_host_would_be_lost(tmp_path: Path) -> None:
    """Ansible reads host_vars/gpu2/ or host_vars/gpu2.yml, never both."""
    (tmp_path / "gpu2.yml").write_text("a: 1\n")
    with pytest.raises(AnsibleActionFail, match=r"gpu2.*main\.yml"):
        run(tmp_path, infiniband=FABRIC)


def test_text_that_is_not_of_lldpctl(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="gpu1 cannot be read"):
        run(tmp_path, lldp={"gpu1": {"lldp": "nonsense"}})


def test_unusable_records_do_not_matter(tmp_path: Path) -> None:
    variables = {"gpu1": {"node_hardware": {"schema": 1}}, "gpu2": {"node_hardware": "x"}}
    assert run(tmp_path, variables, infiniband=FABRIC)["nodes"] == ["gpu2"]


def test_options_and_results_are_documented() -> None:
    assert sorted(yaml.safe_load(documented.DOCUMENTATION)["options"]) == ["dir", "infiniband", "lldp", "nodes"]
    assert sorted(yaml.safe_load(documented.RETURN)) == ["nodes", "problems"]
