# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role node_base leaves on a host."""

from __future__ import annotations

testinfra_hosts = ["ansible://all"]
ADDRESSES = {"base-a1": "172.30.100.11", "base-a2": "172.30.100.12"}


def test_the_host_has_the_name_of_the_inventory(host):
    assert host.check_output("hostname") == host.backend.get_pytest_id().removeprefix("ansible://")


def test_every_name_of_the_cluster_is_found(host):
    for name, address in ADDRESSES.items():
        assert host.addr(name).ipv4_addresses == [address]


def test_lines_of_others_in_the_hosts_file_are_kept(host):
    assert "127.0.0.1\tlocalhost" in host.file("/etc/hosts").content_string


def test_the_packages_of_the_site_are_there(host):
    assert host.package("logrotate").is_installed
