# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeated runs, changes, and changes that must not go through."""

from __future__ import annotations

from conftest import extra


def test_check_mode_on_a_finished_cluster_predicts_no_change(cluster):
    run = cluster.play("site.yml", "--check", "--diff")
    assert run.status == 0, run.output
    assert run.changed() == {}


def test_a_partition_limit_needs_no_restart(cluster):
    everybody = [cluster.controller, *cluster.nodes]
    before = (
        cluster.starts("slurmd", cluster.nodes),
        cluster.starts("slurmctld", [cluster.controller]),
        cluster.starts("munge", everybody),
    )
    run = cluster.play("site.yml", *extra(slurm_partitions=[{"name": "h100", "parameters": {"MaxTime": "1-00:00:00"}}]))
    assert run.status == 0, run.output
    assert "MaxTime=1-00:00:00" in cluster.on(cluster.controller, "scontrol show partition h100")
    after = (
        cluster.starts("slurmd", cluster.nodes),
        cluster.starts("slurmctld", [cluster.controller]),
        cluster.starts("munge", everybody),
    )
    assert after == before


def test_a_setting_that_needs_a_restart_is_taken_in(cluster):
    run = cluster.play("site.yml", *extra(slurm_settings={"MaxJobCount": 12345}))
    assert run.status == 0, run.output
    assert "MaxJobCount             = 12345" in cluster.on(cluster.controller, "scontrol show config")
    cluster.wait_until_idle()


def test_going_back_to_the_inventory_is_one_run(cluster):
    run = cluster.play("site.yml")
    assert run.status == 0, run.output
    assert cluster.play("site.yml").changed() == {}
    cluster.wait_until_idle()


def test_a_configuration_that_slurm_refuses_does_not_replace_the_good_one(cluster):
    before = cluster.on(cluster.controller, "sha256sum /etc/slurm/slurm.conf")
    run = cluster.play("site.yml", *extra(slurm_settings={"SelectType": "select/nonsense"}))
    assert run.status != 0
    assert "select/nonsense" in run.output
    assert cluster.on(cluster.controller, "sha256sum /etc/slurm/slurm.conf") == before
    assert cluster.as_user("srun hostname") in cluster.nodes


def test_a_derived_parameter_cannot_be_passed_through(cluster):
    run = cluster.play("site.yml", *extra(slurm_settings={"nodename": "x"}))
    assert run.status != 0
    assert "NodeName" in run.output


def test_a_drain_of_an_operator_outlives_the_playbook(cluster):
    node = cluster.nodes[0]
    cluster.on(cluster.controller, f"scontrol update nodename={node} state=drain reason='RMA 123'")
    assert cluster.play("site.yml").status == 0
    assert "drain" in cluster.node_state(node)
    assert (
        cluster.on(cluster.controller, f"sinfo --noheader --nodes={node} --partition=all --Format=Reason:20")
        == "RMA 123"
    )
    cluster.on(cluster.controller, f"scontrol update nodename={node} state=resume")
    cluster.wait_until_idle()


def test_an_edited_file_on_the_controller_is_put_right(cluster):
    cluster.on(cluster.controller, "sed -i 's/^ReturnToService=.*/ReturnToService=2/' /etc/slurm/slurm.conf")
    predicted = cluster.play("site.yml", "--check", "--diff")
    assert "+ReturnToService=1" in predicted.output
    run = cluster.play("site.yml")
    assert run.status == 0, run.output
    assert run.changed().keys() == {cluster.controller}, run.output
    assert cluster.play("site.yml").changed() == {}


def test_plan_shows_a_change_and_makes_none(cluster):
    before = cluster.on(cluster.controller, "sha256sum /etc/slurm/*.conf")
    run = cluster.play("plan.yml", *extra(slurm_partitions=[{"name": "h100", "parameters": {"MaxTime": "2-00:00:00"}}]))
    assert run.status == 0, run.output
    assert "MaxTime=2-00:00:00" in run.output
    assert "reconfigure" in run.output
    assert cluster.on(cluster.controller, "sha256sum /etc/slurm/*.conf") == before


def test_a_daemon_that_does_not_come_up_brings_the_old_configuration_back(cluster):
    before = cluster.on(cluster.controller, "sha256sum /etc/slurm/*.conf")
    # The port is slurmdbd's: the trial, in a network of its own, cannot know; the real daemon cannot start.
    run = cluster.play("site.yml", *extra(slurm_controller_port=6819))
    assert run.status != 0
    assert "did not come up with the new configuration" in run.output
    assert cluster.on(cluster.controller, "sha256sum /etc/slurm/*.conf") == before
    cluster.wait_for("slurmctld", lambda: "UP" in cluster.on(cluster.controller, "scontrol ping || true"))
    assert cluster.play("site.yml").status == 0
    cluster.wait_until_idle()
