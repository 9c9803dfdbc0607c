# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dead node, a node that never came, and hardware that is not what it was."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml


def docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, capture_output=True, timeout=120)


def test_a_dead_node_does_not_keep_the_others_from_their_work(cluster, tmp_path: Path):
    dead = cluster.nodes[2]
    newcomer = tmp_path / "newcomer.yml"
    newcomer.write_text(
        yaml.safe_dump({"slurm_node": {"hosts": {f"{cluster.prefix}-gpu9": {"node_base_address": "172.30.110.99"}}}})
    )
    docker("stop", "--time=5", dead)
    try:
        run = cluster.play("site.yml", f"--inventory={newcomer}")
        recap = run.recap()
        assert run.status == 4, run.output
        assert recap[dead]["unreachable"] == 1
        assert recap[cluster.nodes[0]]["failed"] == 0 and recap[cluster.controller]["failed"] == 0
        # The dead node keeps its line; the one that was never seen is left out and named.
        nodes = cluster.on(cluster.controller, "scontrol show nodes --oneliner | grep -o '^NodeName=[^ ]*'")
        assert nodes.splitlines() == [f"NodeName={node}" for node in cluster.nodes]
        assert f"{cluster.prefix}-gpu9" in run.output
        assert cluster.as_user(f"srun --nodelist={cluster.nodes[1]} hostname") == cluster.nodes[1]
    finally:
        docker("start", dead)
    cluster.wait_for("systemd on the dead node", lambda: cluster.on(dead, "systemctl is-system-running --wait || true") in ("running", "degraded"), 90)
    run = cluster.play("site.yml")
    assert run.status == 0, run.output
    cluster.wait_until_idle()


def test_a_node_with_fewer_gpus_is_quarantined_and_the_record_stays(cluster):
    node = cluster.nodes[1]
    record = cluster.inventory / "host_vars" / node / "hardware.yml"
    before = record.read_bytes()
    # The evidence of this node becomes that of a machine with one GPU less.
    cluster.on(
        node,
        "cp -r /opt/gpu-bundle /opt/one-less && cd /opt/one-less && rm -rf $(ls -d sys/bus/pci/devices/* | xargs -n1 -I{} sh -c"
        " 'grep -qi 0x2330 {}/device && echo {}' | tail -1)",
    )
    run = cluster.play("site.yml", "--extra-vars", '{"hardware_evidence_roots": ["/opt/one-less", "/opt/gpu-bundle", "/"]}', f"--limit={node},{cluster.controller}")
    assert record.read_bytes() == before
    assert "drain" in cluster.node_state(node), run.output
    reason = cluster.on(cluster.controller, f"scontrol show node {node} --oneliner").split("Reason=")[1]
    assert reason.startswith("steelrack: ")
    assert cluster.as_user(f"srun --nodelist={cluster.nodes[0]} hostname") == cluster.nodes[0]
    # The hardware is whole again: what we drained we resume.
    assert cluster.play("site.yml").status == 0
    cluster.wait_until_idle()
