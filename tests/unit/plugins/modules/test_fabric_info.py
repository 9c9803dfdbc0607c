# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node sees of the network, read from bundles, and the module around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.fabric import default_interfaces, neighbours
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.modules import fabric_info

ROUTE = """\
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
{interface}	00000000	0101A8C0	0003	0	0	0	00000000	0	0	0
eth9	0001A8C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
"""


def bundle(folder: Path, **files: str) -> Path:
    """Write files, ``__`` in a name standing for a slash, and return the folder."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def active(folder: Path, state: str = "4: ACTIVE", link_layer: str = "InfiniBand") -> Path:
    """Add an InfiniBand adapter to a bundle."""
    port = "sys__class__infiniband__mlx5_0__ports__1__"
    return bundle(folder, **{f"{port}state": state, f"{port}link_layer": link_layer})


def run(capsys: pytest.CaptureFixture[str], **arguments: Any) -> dict[str, Any]:
    """Return the result of the module."""
    basic._ANSIBLE_ARGS = None
    with patch_module_args(arguments), pytest.raises(SystemExit):
        fabric_info.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_default_route_by_a_plain_interface(tmp_path: Path) -> None:
    assert default_interfaces(Evidence([str(bundle(tmp_path, proc__net__route=ROUTE.format(interface="eth0")))])) == [
        "eth0"
    ]


def test_default_route_by_a_vlan_on_a_bond(tmp_path: Path) -> None:
    for name in ("bond0.5/lower_bond0", "bond0/lower_eth0", "bond0/lower_eth1", "eth0/device"):
        (tmp_path / "sys" / "class" / "net" / name).mkdir(parents=True)
    bundle(tmp_path, proc__net__route=ROUTE.format(interface="bond0.5"))
    assert default_interfaces(Evidence([str(tmp_path)])) == ["bond0", "bond0.5", "eth0", "eth1"]


def test_no_route(tmp_path: Path) -> None:
    assert default_interfaces(Evidence([str(tmp_path)])) == []


@pytest.mark.parametrize(
    ("state", "link_layer", "program", "expected"),
    [
        ("4: ACTIVE", "InfiniBand", True, True),
        ("4: ACTIVE", "InfiniBand", False, False),
        ("1: DOWN", "InfiniBand", True, False),
        ("4: ACTIVE", "Ethernet", True, False),
    ],
)
def test_whether_the_fabric_can_be_read(
    tmp_path: Path, state: str, link_layer: str, program: bool, expected: bool
) -> None:
    active(tmp_path, state, link_layer)
    if program:
        bundle(tmp_path, commands__ibnetdiscover="")
    assert neighbours(Evidence([str(tmp_path)]))["infiniband"] is expected


def test_module_without_any_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, roots=[str(tmp_path)])
    assert (result["changed"], result["lldp"], result["infiniband"], result["default_interfaces"]) == (
        False,
        None,
        False,
        [],
    )


def test_module_reads_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = bundle(tmp_path, **{"commands__lldpctl_-f_keyvalue": "lldp.x", "commands__ibnetdiscover": "Switch"})
    result = run(capsys, roots=[str(folder)], infiniband=True)
    assert (result["lldp"], result["ibnetdiscover"]) == ("lldp.x", "Switch")


def test_lldpd_that_does_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = bundle(tmp_path, **{"commands__lldpctl_-f_keyvalue": "", "commands__lldpctl_-f_keyvalue.rc": "1\n"})
    assert run(capsys, roots=[str(folder)])["lldp"] is None


@pytest.mark.parametrize(
    ("files", "words"),
    [({}, "not installed"), ({"commands__ibnetdiscover": "", "commands__ibnetdiscover.rc": "255\n"}, "status 255")],
)
def test_fabric_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], words: str
) -> None:
    result = run(capsys, roots=[str(bundle(tmp_path, **files))], infiniband=True)
    assert result["failed"]
    assert words in result["msg"]


def test_wrong_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert "correct the option roots" in run(capsys, roots=["/no/such/folder"])["msg"]


def test_options_are_documented() -> None:
    options = yaml.safe_load(fabric_info.DOCUMENTATION)["options"]
    assert sorted(options) == ["infiniband", "roots", "timeout"]
