# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role munge leaves on the hosts."""

from __future__ import annotations

import testinfra

testinfra_hosts = ["ansible://all"]


def test_the_key_is_for_munge_alone(host):
    key = host.file("/etc/munge/munge.key")
    assert (key.user, key.group, key.mode) == ("munge", "munge", 0o400)
    assert key.size >= 32


def test_munge_runs_and_is_enabled(host):
    assert host.service("munge").is_running
    assert host.service("munge").is_enabled


def test_a_credential_of_one_host_is_good_on_the_other(host, request):
    other = testinfra.get_host("ansible://munge-a2", ansible_inventory=request.config.option.ansible_inventory)
    credential = host.check_output("munge --no-input")
    assert "Success" in other.check_output("printf %%s %s | unmunge", credential)
