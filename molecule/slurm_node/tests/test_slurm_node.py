# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role slurm_node leaves on a node, seen through jobs."""

from __future__ import annotations

import time

import testinfra

testinfra_hosts = ["ansible://slurm_node"]


def controller(request):
    return testinfra.get_host("ansible://nd-ctl1", ansible_inventory=request.config.option.ansible_inventory)


def wait_for(check, seconds):
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "the state did not come in time"
        time.sleep(1)


def test_the_node_keeps_no_configuration_of_its_own(host):
    assert not host.file("/etc/slurm/slurm.conf").exists
    assert not host.file("/etc/slurm/gres.conf").exists


PROBE = "for n in 0 1 2 3 4 5 6 7; do (exec 3<>/dev/nvidia$n) 2>&1 | grep -q permitted || echo $n; done"


def test_a_job_gets_its_gpu_and_sees_no_other(host, request):
    assert controller(request).check_output("srun --gres=gpu:h100:1 bash -c %s", PROBE) == "0"


def test_slurmd_waits_for_the_device_files_and_comes_up_by_itself(host, request):
    host.check_output("rm /dev/nvidia3 && systemctl --no-block restart slurmd")
    time.sleep(5)
    assert host.check_output("systemctl show --value --property=ActiveState slurmd") == "activating"
    host.check_output("mknod --mode=666 /dev/nvidia3 c 195 3")
    wait_for(lambda: host.service("slurmd").is_running, 30)
    assert controller(request).check_output("srun --gres=gpu:h100:8 printenv CUDA_VISIBLE_DEVICES") == "0,1,2,3,4,5,6,7"


def test_the_log_can_be_rotated_under_the_running_daemon(host):
    host.check_output("logrotate --force /etc/logrotate.d/slurmd")
    assert host.service("slurmd").is_running
