# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user of the cluster gets."""

from __future__ import annotations

PROBE = (
    "for f in /dev/nvidia[0-9]* /dev/nvidia-caps/*; do [ -e $f ] || continue; "
    "(exec 3<>$f) 2>&1 | grep -q 'not permitted' && echo refused $f || echo usable $f; done"
)


def probe(cluster, gres: str, name: str) -> dict[str, str]:
    output = cluster.as_user(f'srun --job-name={name} --gres={gres} bash -c "{PROBE}"'.replace("$f", "\\$f"))
    return {path: verdict for verdict, path in (line.split() for line in output.splitlines())}


def test_every_node_is_idle(cluster):
    cluster.wait_until_idle()


def test_two_h100_are_usable_and_the_other_six_refused(cluster):
    verdicts = probe(cluster, "gpu:h100:2", "two-of-eight")
    assert len(verdicts) == 8
    assert sorted(verdicts.values()) == ["refused"] * 6 + ["usable"] * 2
    assert "gres/gpu:h100=2" in cluster.tres_of("two-of-eight").split(",")


def test_a_mig_instance_comes_with_its_own_capability_files(cluster):
    kinds = (
        cluster.on(cluster.controller, f"scontrol show node {cluster.nodes[2]} --oneliner").split("Gres=")[1].split()[0]
    )
    mig = next(kind for kind in kinds.split(",") if "3g.40gb" in kind).split(":")[1]
    verdicts = probe(cluster, f"gpu:{mig}:1", "one-instance")
    usable = [path for path, verdict in verdicts.items() if verdict == "usable"]
    assert len([path for path in usable if "caps" in path]) == 2
    assert [path for path in usable if "caps" not in path] == ["/dev/nvidia3"]
    assert f"gres/gpu:{mig}=1" in cluster.tres_of("one-instance").split(",")


def test_a_job_without_a_gpu_can_open_none(cluster):
    output = cluster.as_user(f'srun bash -c "{PROBE}"'.replace("$f", "\\$f"))
    assert output
    assert all(line.startswith("refused") for line in output.splitlines())


def test_a_job_is_confined_to_its_core(cluster):
    assert cluster.as_user("srun --cpus-per-task=1 nproc") == "1"


def test_a_multi_node_job_runs(cluster):
    hosts = cluster.as_user("srun --nodes=3 hostname").splitlines()
    assert sorted(hosts) == cluster.nodes


def test_the_login_host_is_in_no_partition(cluster):
    assert cluster.login not in cluster.as_user("sinfo --noheader --Node --Format=NodeHost:30")


def test_the_acceptance_playbook_finds_the_cluster_good(cluster):
    run = cluster.play("validate.yml")
    assert run.status == 0, run.output
