# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLDP neighbours in the three forms of lldpctl."""

from __future__ import annotations

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import Link
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.lldp import LldpError, parse

KEY_VALUE = """\
lldp.eth0.via=LLDP
lldp.eth0.rid=1
lldp.eth0.chassis.mac=aa:00:00:00:00:01
lldp.eth0.chassis.name=mgmt1
lldp.eth0.chassis.descr=Debian
 on several lines
lldp.eth0.chassis.Bridge.enabled=on
lldp.eth0.chassis.Router.enabled=off
lldp.eth0.port.ifname=swp9
lldp.eth2.100.via=LLDP
lldp.eth2.100.chassis.mac=aa:00:00:00:00:02
lldp.eth2.100.chassis.name=leaf1
lldp.eth2.100.port.local=17
lldp.eth2.100.port.descr=to gpu1
lldp.eth3.via=LLDP
lldp.eth3.chassis.mac=aa:00:00:00:00:03
lldp.eth3.chassis.name=some-host
lldp.eth3.chassis.Bridge.enabled=off
lldp.eth3.chassis.Station.enabled=on
lldp.eth4.via=LLDP
lldp.eth4.chassis.mac=aa:00:00:00:00:04
lldp.eth4.via=CDPv2
lldp.eth4.chassis.mac=aa:00:00:00:00:05
"""
JSON = """{"lldp": {"interface": [
  {"eth0": {"via": "LLDP", "rid": "1", "chassis": {"mgmt1": {"id": {"type": "mac", "value": "aa:00:00:00:00:01"},
    "capability": [{"type": "Bridge", "enabled": true}, {"type": "Router", "enabled": false}]}},
    "port": {"id": {"type": "ifname", "value": "swp9"}, "descr": "x"}}},
  {"eth2.100": {"chassis": {"leaf1": {"id": {"type": "mac", "value": "aa:00:00:00:00:02"}}},
    "port": {"id": {"type": "local", "value": "17"}}}},
  {"eth3": {"chassis": {"some-host": {"id": {"type": "mac", "value": "aa:00:00:00:00:03"},
    "capability": {"type": "Station", "enabled": true}}}, "port": {"id": {"type": "mac", "value": "1"}}}},
  {"eth4": {"chassis": {"id": {"type": "mac", "value": "aa:00:00:00:00:04"}}, "port": {}}},
  {"eth4": {"chassis": {"id": {"type": "mac", "value": "aa:00:00:00:00:05"}}, "port": {}}}
]}}"""
JSON0 = """{"lldp": [{"interface": [
  {"name": "eth0", "via": "LLDP", "chassis": [{"id": [{"type": "mac", "value": "aa:00:00:00:00:01"}],
    "name": [{"value": "mgmt1"}], "capability": [{"type": "Bridge", "enabled": true}]}],
    "port": [{"id": [{"type": "ifname", "value": "swp9"}], "descr": [{"value": "x"}]}]},
  {"name": "eth2.100", "chassis": [{"id": [{"type": "mac", "value": "aa:00:00:00:00:02"}],
    "name": [{"value": "leaf1"}]}], "port": [{"id": [{"type": "local", "value": "17"}]}]},
  {"name": "eth3", "chassis": [{"id": [{"type": "mac", "value": "aa:00:00:00:00:03"}], "name": [{"value": "h"}],
    "capability": [{"type": "Station", "enabled": true}]}], "port": []},
  {"name": "eth4", "chassis": [{"id": [{"type": "mac", "value": "aa:00:00:00:00:04"}]}]},
  {"name": "eth4", "chassis": [{"id": [{"type": "mac", "value": "aa:00:00:00:00:05"}]}]}
]}]}"""
EXPECTED = (
    Link("eth0", "mgmt1", "aa:00:00:00:00:01", "swp9", default_route=True),
    Link("eth2.100", "leaf1", "aa:00:00:00:00:02", "17"),
    Link("eth4", "aa:00:00:00:00:04", "aa:00:00:00:00:04"),
    Link("eth4", "aa:00:00:00:00:05", "aa:00:00:00:00:05"),
)


@pytest.mark.parametrize("text", [KEY_VALUE, JSON, JSON0], ids=["keyvalue", "json", "json0"])
def test_the_three_forms_say_the_same(text: str) -> None:
    """A host (it says that it does not bridge) is no switch; a switch without a name is known by its address."""
    assert parse(text, ["eth0"]) == EXPECTED


def test_one_interface_is_not_in_a_list() -> None:
    text = (
        '{"lldp": {"interface": {"eth0": {"chassis": {"leaf1": {"id": {"type": "mac", "value": "m"}}}, "port": {}}}}}'
    )
    assert parse(text) == (Link("eth0", "leaf1", "m"),)


@pytest.mark.parametrize("text", ["", " \n", '{"lldp": {}}', '{"lldp": [{}]}'])
def test_no_neighbours(text: str) -> None:
    assert parse(text) == ()


@pytest.mark.parametrize("text", ["LLDP neighbors:\n", "{", "[]", '{"other": 1}', '{"lldp": {"interface": ["x"]}}'])
def test_another_text(text: str) -> None:
    with pytest.raises(LldpError):
        parse(text)
