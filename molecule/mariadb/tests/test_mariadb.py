# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role mariadb leaves on the host."""

from __future__ import annotations

import pytest

testinfra_hosts = ["ansible://mariadb"]
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("innodb_lock_wait_timeout", 900),
        ("innodb_buffer_pool_size", 1024 * MIB),
        ("innodb_log_file_size", 256 * MIB),
        ("max_allowed_packet", 16 * MIB),
    ],
)
def test_the_server_runs_with_what_slurmdbd_asks_for(host, variable, expected):
    assert host.check_output(f"mariadb --skip-column-names --execute 'SELECT @@{variable}'") == str(expected)


def test_the_server_listens_on_this_host_only(host):
    listening = [socket for socket in host.socket.get_listening_sockets() if socket.endswith(":3306")]
    assert listening == ["tcp://127.0.0.1:3306"]


def test_no_account_has_an_empty_password(host):
    empty = host.check_output(
        "mariadb --skip-column-names --execute \"SELECT COUNT(*) FROM mysql.user WHERE plugin='mysql_native_password' AND authentication_string=''\""
    )
    assert empty == "0"
