# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""InfiniBand fabrics: both formats of ibnetdiscover, joined to nodes by GUID."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import Link
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.infiniband import (
    Adapter,
    adapters_of,
    join,
    parse,
)

FULL = """\
# Topology file: generated on a day

switchguid=0x1(1)
Switch	65 "S-0000000000000001"		# "MF0;LEAF-1:MQM9701/U1" enhanced port 0 lid 73 lmc 0
[1]	"H-00000000000000a1"[1](00000000000000a2) 		# "gpu1 mlx5_0" lid 647 4xNDR
[2]	"H-00000000000000b1"[1](00000000000000b2) 		# "MT4129 ConnectX7   Mellanox Technologies" lid 641 4xNDR
[35]	"S-0000000000000009"[32]		# "MF0;SPINE-1:MQM9701/U1" lid 236 4xNDR
[65]	"H-00000000000000f1"[1](00000000000000f1) 		# "Mellanox Technologies Aggregation Node" lid 193 4xNDR

Switch	36 "S-0000000000000002"		# "SwitchIB Mellanox Technologies" base port 0 lid 2 lmc 0
[7]	"H-00000000000000c1"[2](00000000000000c2) 		# "ufm1 mlx5_0" lid 5 4xEDR

Switch	65 "S-0000000000000009"		# "MF0;SPINE-1:MQM9701/U1" enhanced port 0 lid 236 lmc 0
[32]	"S-0000000000000001"[35]		# "MF0;LEAF-1:MQM9701/U1" lid 73 4xNDR

Ca	1 "H-00000000000000a1"		# "gpu1 mlx5_0"
[1](00000000000000a2) 	"S-0000000000000001"[1]		# lid 647 lmc 0 "MF0;LEAF-1:MQM9701/U1" lid 73 4xNDR
"""
SHORT = """\
CA   134  1 0x00000000000000a2 4x EDR - SW  1719 10 0x0000000000000001 ( 'gpu1 HCA-1' - 'leaf - one' )
SW  1719 11 0x0000000000000001 4x EDR - CA   133  1 0x00000000000000b2 ( 'leaf - one' - 'gpu2 HCA-1' )
SW  1719  1 0x0000000000000001 4x EDR - SW  1516  1 0x0000000000000009 ( 'leaf - one' - 'spine' )
SW  2052 37 0x0000000000000001 4x ???                                    'leaf - one'
SW  1781 80 0x0000000000000008 4x SDR                                    'unused'
"""
OLD_SHORT = "SW  5  3 0x0000000000000001 4x QDR - CA  7  1 0x00000000000000a2 ( ibsw1 - gpu1 HCA-1 )\n"


def guid(number: int) -> str:
    """Return a GUID as records have it."""
    return f"0x{number:016x}"


def test_full_form() -> None:
    fabric = parse(FULL)
    assert dict(fabric.switches) == {guid(1): "LEAF-1", guid(2): f"ib-{2:016x}", guid(9): "SPINE-1"}
    assert [(port.switch, port.switch_port, port.node_guid, port.port_guid) for port in fabric.ports] == [
        (guid(1), 1, guid(0xA1), guid(0xA2)),
        (guid(1), 2, guid(0xB1), guid(0xB2)),
        (guid(2), 7, guid(0xC1), guid(0xC2)),
    ]


def test_short_form() -> None:
    fabric = parse(SHORT)
    assert dict(fabric.switches) == {guid(1): "leaf - one", guid(9): "spine"}
    assert [(port.switch_port, port.port_guid, port.description) for port in fabric.ports] == [
        (10, guid(0xA2), "gpu1 HCA-1"),
        (11, guid(0xB2), "gpu2 HCA-1"),
    ]


def test_short_form_of_old_versions_has_no_quotes() -> None:
    fabric = parse(OLD_SHORT)
    assert dict(fabric.switches) == {guid(1): "ibsw1"}
    assert fabric.ports[0].description == "gpu1 HCA-1"


@pytest.mark.parametrize("text", ["", "ibwarn: [1] mad_rpc: timed out\n", "Switch\n[1]\nCA\nSW - CA ( )\n"])
def test_text_without_a_fabric(text: str) -> None:
    assert parse(text).ports == ()


def test_outputs_of_two_fabrics_one_after_the_other() -> None:
    assert len(parse(FULL + SHORT.replace("0x0000000000000001", "0x0000000000000011")).ports) == 5


@pytest.mark.parametrize(
    ("adapters", "expected", "by_name"),
    [
        pytest.param(
            [Adapter("gpu1", "mlx5_0", (guid(0xA1),)), Adapter("gpu2", "mlx5_3", (guid(0xB2),))],
            {"gpu1": [("mlx5_0", "1")], "gpu2": [("mlx5_3", "2")]},
            (),
            id="node GUID and port GUID",
        ),
        pytest.param(
            [Adapter("gpu2", "mlx5_0", (guid(0xA1),))],
            {"gpu2": [("mlx5_0", "1")]},
            (),
            id="a GUID is believed, the name is not",
        ),
        pytest.param([], {"gpu1": [("mlx5_0", "1")]}, ("gpu1",), id="name where no record has the GUID"),
        pytest.param(
            [Adapter("gpu1", "mlx5_0", (guid(0xB1),)), Adapter("gpu2", "mlx5_0", (guid(0xB1),))],
            {"gpu1": [("mlx5_0", "1")]},
            ("gpu1",),
            id="a GUID in two records decides nothing",
        ),
    ],
)
def test_join(adapters: list[Adapter], expected: dict[str, list[tuple[str, str]]], by_name: tuple[str, ...]) -> None:
    joined = join(parse(FULL), adapters, ["gpu1", "gpu2"])
    assert {host: [(link.adapter, link.port) for link in links] for host, links in joined.links.items()} == expected
    assert joined.by_name == by_name


@pytest.mark.parametrize(
    ("description", "host"),
    [
        ("gpu1 HCA-1", "gpu1"),
        ("gpu1", "gpu1"),
        ("GPU1.example.org mlx5_0", "gpu1"),
        ("localhost HCA-1", None),
        ("MT4129 ConnectX7   Mellanox Technologies", None),
        ("", None),
    ],
)
def test_descriptions(description: str, host: str | None) -> None:
    joined = join(parse(FULL.replace("gpu1 mlx5_0", description)), [], ["gpu1"])
    assert set(joined.links) == ({host} if host else set())


def test_adapters_of_a_record() -> None:
    hcas = [
        {"name": "mlx5_0", "guid": "0xA1", "ports": [{"port": 1, "guid": guid(0xA2)}]},
        {"name": "mlx5_1", "guid": None, "ports": [{"port": 1, "guid": None}]},
    ]
    found = adapters_of("gpu1", {"fabric": {"hcas": hcas}})
    assert found == [Adapter("gpu1", "mlx5_0", (guid(0xA1), guid(0xA2)))]


def test_capture_of_the_short_form(captures: Path) -> None:
    fabric = parse((captures / "edr-small.ibnetdiscover-p.txt").read_text())
    joined = join(fabric, [], ["c0001", "c0002"])
    assert {host: sorted(link.switch for link in links) for host, links in joined.links.items()} == {
        "c0001": ["ib-i1l1s01", "ib-i4l1s01"],
        "c0002": ["ib-i1l1s01"],
    }


def test_capture_of_an_adapter_alone(captures: Path) -> None:
    assert parse((captures / "dgx-superpod-bad.ibnetdiscover.txt").read_text()).ports == ()


def test_links_of_the_large_capture(captures: Path) -> None:
    """542 cables to adapters, 69 of them without a name; 40 aggregation nodes do not count."""
    fabric = parse((captures / "dgx-superpod-rail-optimised-ndr.ibnetdiscover.txt").read_text())
    assert (len(fabric.switches), len(fabric.ports)) == (40, 542)
    joined = join(fabric, [], {port.description.split()[0] for port in fabric.ports if port.description[:4] == "gpu-"})
    assert len(joined.links) == 119
    assert sum(map(len, joined.links.values())) == 466
    assert all(isinstance(link, Link) for links in joined.links.values() for link in links)
