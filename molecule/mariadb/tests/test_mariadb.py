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
        ("innodb_buffer_pool_size", 4096 * MIB),
        ("innodb_log_file_size", 256 * MIB),
        ("max_allowed_packet", 16 * MIB),
    ],
)
def test_the_server_runs_with_what_slurmdbd_asks_for(host, variable, expected):
    assert host.check_output(f"mariadb --skip-column-names --execute 'SELECT @@{variable}'") == str(expected)


def test_the_server_listens_on_this_host_only(host):
    listening = [socket for socket in host.socket.get_listening_sockets() if socket.endswith(":3306")]
    assert listening == ["tcp://127.0.0.1:3306"]


def test_no_account_that_can_log_in_has_an_empty_password(host):
    query = (
        "SELECT User FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.plugin') = 'mysql_native_password'"
        " AND COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') = ''"
        " AND COALESCE(JSON_VALUE(Priv, '$.account_locked'), '0') NOT IN ('1', 'true')"
    )
    assert host.check_output("mariadb --skip-column-names --execute %s", query) == ""
