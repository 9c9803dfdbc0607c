# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin on inventories of files, as ansible-inventory reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader
from ansible.vars import plugins as vars_plugins

from ansible_collections.steelrack.gpu_cluster.plugins.inventory import hardware
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import hgx, record

HOSTS = {
    "all": {"hosts": {"ctl1": None}, "children": {"slurm_node": {"hosts": {"gpu1": None, "gpu2": None, "cpu1": None}}}}
}
PLUGIN = "steelrack.gpu_cluster.hardware"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an inventory folder of three nodes with records and a controller without."""
    write(tmp_path / "hosts.yml", HOSTS)
    for one in (hgx("gpu1"), hgx("gpu2", "nvidia_a100-sxm4-80gb"), record("cpu1")):
        write(tmp_path / "host_vars" / one["host"] / "hardware.yml", {"node_hardware": one})
    write(tmp_path / "host_vars" / "gpu1" / "place.yml", {"slurm_node_rack": "r{{ 3 + 4 }}"})
    write(tmp_path / "group_vars" / "slurm_node.yml", {"slurm_node_rack": "r1"})
    return tmp_path


def write(path: Path, content: Any) -> None:
    """Write a YAML file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")


def groups(folder: Path, **options: Any) -> dict[str, list[str]]:
    """Return the groups that the plugin makes with these options: name -> hosts."""
    write(folder / "records.steelrack.yml", {"plugin": PLUGIN, **options})
    found = manager(folder).get_groups_dict()
    return {name: sorted(hosts) for name, hosts in found.items() if name not in ("all", "ungrouped", "slurm_node")}


def manager(folder: Path) -> InventoryManager:
    """Return the inventory of a folder."""
    vars_plugins.vars_loader._paths = None
    return InventoryManager(loader=DataLoader(), sources=[str(folder)])


def test_groups_by_records_racks_and_count(folder: Path) -> None:
    assert groups(folder) == {
        "gpu_h100": ["gpu1"],
        "gpu_a100": ["gpu2"],
        "gpus_8": ["gpu1", "gpu2"],
        "gpus_0": ["cpu1"],
        "rack_r7": ["gpu1"],
        "rack_r1": ["cpu1", "gpu2"],
    }


def test_it_composes(folder: Path) -> None:
    found = groups(
        folder,
        group_by=["gpu_count"],
        group_prefix="hw_",
        groups={"many": "hardware.gpu_count > 4", "composed": "gpus | default(0) == 8"},
        keyed_groups=[{"prefix": "cpus", "key": "hardware.cpus | string"}, {"prefix": "in", "key": "slurm_node_rack"}],
        compose={"gpus": "hardware.gpu_count"},
    )
    assert found == {
        "hw_gpus_8": ["gpu1", "gpu2"],
        "hw_gpus_0": ["cpu1"],
        "many": ["gpu1", "gpu2"],
        "composed": ["gpu1", "gpu2"],
        "cpus_224": ["cpu1", "gpu1", "gpu2"],
        "in_r7": ["gpu1"],
        "in_r1": ["cpu1", "gpu2"],
    }
    assert manager(folder).get_host("gpu1").get_vars()["gpus"] == 8


def test_records_in_the_source_itself(tmp_path: Path) -> None:
    """Any source will do, here the hosts file; without variable plugins the other files do not count."""
    write(tmp_path / "hosts.yml", {"all": {"hosts": {"gpu1": {"node_hardware": hgx("gpu1")}, "gpu2": None}}})
    write(tmp_path / "host_vars" / "gpu2" / "hardware.yml", {"node_hardware": hgx("gpu2")})
    assert groups(tmp_path, use_vars_plugins=False, group_by=["gpu_type"]) == {"gpu_h100": ["gpu1"]}
    assert groups(tmp_path, group_by=["gpu_type"]) == {"gpu_h100": ["gpu1", "gpu2"]}


def test_another_source_beside_it(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The configuration may be a source of its own, given after the inventory."""
    config = tmp_path_factory.mktemp("other") / "x.steelrack.yml"
    write(config, {"plugin": PLUGIN, "group_by": ["gpu_type"]})
    found = InventoryManager(loader=DataLoader(), sources=[str(folder), str(config)]).get_groups_dict()
    assert (found["gpu_h100"], found["gpu_a100"]) == (["gpu1"], ["gpu2"])


def test_unusable_record_is_passed_over_with_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "host_vars" / "gpu1" / "hardware.yml", {"node_hardware": {"schema": 9}})
    assert "gpu_h100" not in groups(folder)
    assert "gpu1 gets no hardware groups" in " ".join(capsys.readouterr().err.split())


def test_unusable_record_with_strict(folder: Path) -> None:
    write(folder / "host_vars" / "gpu1" / "hardware.yml", {"node_hardware": {"schema": 9}})
    write(folder / "records.steelrack.yml", {"plugin": PLUGIN, "strict": True})
    inventory = manager(folder)
    plugin = inventory_loader.get(PLUGIN)
    with pytest.raises(AnsibleError, match="gpu1 gets no hardware groups"):
        plugin.parse(inventory._inventory, DataLoader(), str(folder / "records.steelrack.yml"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("records.steelrack.yml", True), ("a.steelrack.yaml", True), ("hardware.yml", False), ("steelrack.yml", False)],
)
def test_name_of_the_configuration(tmp_path: Path, name: str, expected: bool) -> None:
    (tmp_path / name).write_text("plugin: x\n")
    assert hardware.InventoryModule().verify_file(str(tmp_path / name)) is expected
