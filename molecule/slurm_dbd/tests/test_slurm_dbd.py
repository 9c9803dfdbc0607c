# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role slurm_dbd leaves on the host."""

from __future__ import annotations

testinfra_hosts = ["ansible://slurm_dbd"]


def test_the_configuration_is_for_the_slurm_user_alone(host):
    configuration = host.file("/etc/slurm/slurmdbd.conf")
    assert (configuration.user, configuration.mode) == ("slurm", 0o600)


def test_slurmdbd_runs_and_did_not_restart(host):
    assert host.service("slurmdbd").is_running
    assert host.service("slurmdbd").is_enabled
    assert host.check_output("systemctl show --value --property=NRestarts slurmdbd") == "0"


def test_the_log_has_no_error_and_no_complaint_about_the_database(host):
    log = host.file("/var/log/slurm/slurmdbd.log").content_string
    assert "error" not in log


def test_accounting_takes_a_cluster_and_gives_it_back(host):
    # A scratch slurm.conf, because the controller's role is not part of this scenario.
    host.check_output(
        "printf 'ClusterName=scratch\nSlurmctldHost=dbd-a1\nAccountingStorageType=accounting_storage/slurmdbd\n"
        "AccountingStorageHost=dbd-a1\n' > /tmp/slurm.conf"
    )
    host.check_output("apt-get install -qq -y --no-install-recommends slurm-client > /dev/null")
    sacctmgr = "SLURM_CONF=/tmp/slurm.conf sacctmgr"
    host.run(f"{sacctmgr} --immediate add cluster scratch")
    assert host.check_output(f"{sacctmgr} --noheader --parsable2 list cluster format=Cluster").split() == ["scratch"]


def test_slurmdbd_is_held_on_its_version(host):
    assert "slurmdbd" in host.check_output("apt-mark showhold").split()


def test_the_log_can_be_rotated_under_the_running_daemon(host):
    host.check_output("logrotate --force /etc/logrotate.d/slurmdbd")
    assert host.file("/var/log/slurm/slurmdbd.log.1").exists
    assert host.service("slurmdbd").is_running
