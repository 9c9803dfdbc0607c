# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role slurm_controller makes of records alone: three nodes that nobody has built yet."""

from __future__ import annotations

testinfra_hosts = ["ansible://slurm_controller"]


def test_slurmctld_runs_and_did_not_restart(host):
    assert host.service("slurmctld").is_running
    assert host.service("slurmctld").is_enabled
    assert host.check_output("systemctl show --value --property=NRestarts slurmctld") == "0"


def test_slurm_knows_the_nodes_of_the_records_with_their_typed_gpus(host):
    nodes = host.check_output("sinfo --noheader --Node --partition=all --Format=NodeHost:20,Gres:80").splitlines()
    assert [line.split() for line in nodes] == [
        ["ctl-gpu1", "gpu:h100:8"],
        ["ctl-gpu2", "gpu:h100:8"],
        ["ctl-gpu3", "gpu:a100:3,gpu:a100_3g.40gb:1,gpu:a100_2g.20gb:2"],
    ]


def test_there_is_a_partition_for_each_type_and_one_default(host):
    lines = host.check_output("sinfo --noheader --Format=PartitionName:20,NodeList:30").splitlines()
    assert dict(line.split() for line in lines) == {
        "all": "ctl-gpu[1-3]",
        "h100": "ctl-gpu[1-2]",
        "a100": "ctl-gpu3",
        "a100_mig": "ctl-gpu3",
    }
    assert host.check_output("scontrol show partition --oneliner | grep -c Default=YES") == "1"


def test_equal_nodes_are_one_line(host):
    lines = [
        line for line in host.file("/etc/slurm/slurm.conf").content_string.splitlines() if line.startswith("NodeName=")
    ]
    assert [line.split()[0] for line in lines] == ["NodeName=ctl-gpu[1-2]", "NodeName=ctl-gpu3"]


# What slurmctld calls an error on its first start though nothing is wrong, and what is due to this scenario alone:
# nobody has built the nodes.
HARMLESS = (
    "state file",
    "Trying backup state save file",
    "MailProg is invalid",
    "glob parsing",
    '"Include" failed in file /etc/slurm/plugstack.conf',
    "ctl-gpu",
    "slurm_msg_sendto",
)


def test_the_log_has_no_error(host):
    log = host.file("/var/log/slurm/slurmctld.log").content_string
    errors = [line for line in log.splitlines() if "error:" in line or "fatal:" in line]
    assert [line for line in errors if not any(words in line for words in HARMLESS)] == []


def test_slurm_is_held_on_its_version(host):
    assert {"slurmctld", "slurm-client"} <= set(host.check_output("apt-mark showhold").split())
