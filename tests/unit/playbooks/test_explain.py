# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bundle without any cluster: the commands of docs/bundles.md, and the bundles that were reported."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.health import examine
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.explain import explained

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "bundles.md"
REPORTED = ROOT / "tests" / "fixtures" / "reported"
BUNDLES = ROOT / "tests" / "fixtures" / "bundles"
COMMANDS = re.findall(
    r"^    (ansible(?:-playbook)? .*tests/fixtures/.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)
Play = Callable[..., Any]


def command(text: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line of the page in the repository's root."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment = {**kept, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"}
    environment["ANSIBLE_LOCAL_TEMP"] = str(tmp_path)
    return subprocess.run(
        shlex.split(text), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_page_has_both_commands() -> None:
    assert [line.split()[0] for line in COMMANDS] == ["ansible", "ansible-playbook", "ansible-playbook"]


def test_record_of_a_bundle(tmp_path: Path) -> None:
    done = command(COMMANDS[0], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "type: nvidia_geforce_rtx_2080_ti" in done.stdout
    assert "health: []" in done.stdout


def test_what_would_be_derived_from_a_bundle(tmp_path: Path) -> None:
    done = command(COMMANDS[1], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NodeName=a100-xid CPUs=224" in done.stdout
    assert "Name=gpu Type=a100 File=/dev/nvidia0 Cores=0-55" in done.stdout
    assert "ERROR GPU037 a100-xid: Xid 79" in done.stdout


def test_expectation_of_a_reported_bundle(tmp_path: Path) -> None:
    """The third command writes the file that is committed; here another place is written to."""
    text = COMMANDS[2]
    written = re.search(r"explain_file=(\S+)", text)
    assert written is not None
    copy = tmp_path / "expected.json"
    done = command(text.replace(written[1], str(copy)), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert copy.read_text(encoding="utf-8") == (ROOT / written[1]).read_text(encoding="utf-8")


def test_variables_of_an_inventory_count(play: Play) -> None:
    bundle = f"{BUNDLES / 'hgx-h100-8gpu'},{BUNDLES / 'cpu-2x56c-smt2'}"
    variables = {
        "explain_bundle": bundle,
        "explain_host": "gpu007",
        "slurm_version": "24.11",
        "slurm_gres_autodetect": "nvml",
        "slurm_node_gpu_sharing": {"mode": "shard", "per_gpu": 2},
    }
    done = play({"all": {}}, "explain.yml", options=("-e", json.dumps(variables)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NodeName=gpu007 AutoDetect=nvml Name=shard Count=16 File=/dev/nvidia[0-7]" in done.stdout


@pytest.mark.parametrize("folder", sorted(REPORTED.iterdir()), ids=lambda folder: folder.name)
def test_reported_bundle(folder: Path) -> None:
    """What was derived from a machine that somebody sent is still derived from it."""
    evidence = Evidence([str(folder)])
    record = take(evidence, folder.name, "")
    health = [problem.as_dict() for problem in examine(evidence, folder.name)]
    cluster = slurm_cluster([folder.name], {folder.name: {"node_hardware": record}}, {"version": "24.11"})
    assert explained(cluster, health) == json.loads((folder / "expected.json").read_text(encoding="utf-8"))
