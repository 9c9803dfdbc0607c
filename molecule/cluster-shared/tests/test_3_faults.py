# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dead node, a node that never came, and hardware that is not what it was."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml
from conftest import extra


def docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, capture_output=True, timeout=120)


def test_a_dead_node_does_not_keep_the_others_from_their_work(cluster, tmp_path: Path):
    dead = cluster.nodes[2]
    never_seen = f"{cluster.prefix}-gpu9"
    # This connection tells an absent container from a failing command, as ssh does with a machine that is down.
    overlay = tmp_path / "overlay.yml"
    down = {"ansible_connection": "community.docker.docker_api"}
    overlay.write_text(yaml.safe_dump({"slurm_node": {"hosts": {never_seen: down, dead: down}}}))
    docker("stop", "--time=5", dead)
    try:
        run = cluster.play("site.yml", f"--inventory={overlay}")
        recap = run.recap()
        assert run.status == 4, run.output
        assert [recap[host]["unreachable"] for host in (dead, never_seen)] == [1, 1]
        assert [recap[host]["failed"] for host in (*cluster.nodes[:2], cluster.controller, cluster.login)] == [0] * 4
        # The dead node keeps its line; the one that was never seen is left out and named.
        nodes = cluster.on(cluster.controller, "scontrol show nodes --oneliner | grep -o '^NodeName=[^ ]*'")
        assert nodes.splitlines() == [f"NodeName={node}" for node in cluster.nodes]
        assert f"SLM001 {never_seen}" in run.output
        assert cluster.as_user(f"srun --nodelist={cluster.nodes[1]} hostname") == cluster.nodes[1]
    finally:
        docker("start", dead)
    cluster.wait_for(
        "systemd on the dead node",
        lambda: cluster.on(dead, "systemctl is-system-running --wait || true") in ("running", "degraded"),
        90,
    )
    run = cluster.play("site.yml")
    assert run.status == 0, run.output
    cluster.wait_until_idle()


# Run on the node: a copy of its evidence in which the last GPU has fallen off the bus.
ONE_LESS = """
import re, shutil
from pathlib import Path
copy = Path("/opt/one-less")
shutil.copytree("/opt/gpu-bundle", copy)
shutil.rmtree(sorted((copy / "sys/bus/pci/devices").glob("0000:d*:00.0"))[-1])
shutil.rmtree(sorted((copy / "proc/driver/nvidia/gpus").iterdir())[-1])
listing = copy / "commands/nvidia-smi_-q_-x"
text = listing.read_text()
last = text.rindex("<gpu id=")
text = text[:last] + text[text.rindex("</gpu>") + len("</gpu>"):]
listing.write_text(text.replace("<attached_gpus>8<", "<attached_gpus>7<"))
"""


def test_a_node_with_fewer_gpus_is_quarantined_and_the_record_stays(cluster):
    node = cluster.nodes[1]
    record = cluster.inventory / "host_vars" / node / "hardware.yml"
    before = record.read_bytes()
    cluster.on(node, f"python3 -c '{ONE_LESS}'")
    run = cluster.play(
        "site.yml", *extra(hardware_evidence_roots=["/opt/one-less", "/"]), f"--limit={node},{cluster.controller}"
    )
    assert run.status == 0, run.output
    assert record.read_bytes() == before
    assert "drain" in cluster.node_state(node), run.output
    reason = cluster.on(cluster.controller, f"scontrol show node {node} --oneliner").split("Reason=")[1]
    assert reason.startswith("steelrack: GPU020"), reason
    # The others go on, and the configured count is that of the record.
    assert cluster.as_user(f"srun --nodelist={cluster.nodes[0]} hostname") == cluster.nodes[0]
    assert "gpu:h100:8" in cluster.on(cluster.controller, f"scontrol show node {node}")
    # The hardware is whole again: what we drained we resume.
    assert cluster.play("site.yml").status == 0
    cluster.wait_until_idle()
