# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Discovery with settings that cannot be used: one sentence, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Play = Callable[..., Any]
BUNDLES = Path(__file__).resolve().parents[2] / "fixtures" / "bundles"
INVENTORY = {
    "all": {
        "vars": {
            "ansible_connection": "local",
            "ansible_become": False,
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            "hardware_evidence_roots": [str(BUNDLES / "hgx-h100-8gpu"), str(BUNDLES / "cpu-2x56c-smt2")],
        },
        "children": {"slurm_node": {"hosts": {"gpu1": {}, "gpu2": {}}}},
    }
}


@pytest.mark.parametrize(
    ("playbook", "setting", "words"),
    [
        ("discover.yml", "hardware_accept=gpu1,gpu9", "hardware_accept names gpu9"),
        ("discover.yml", "hardware_evidence_roots=/no/such/folder", "(hardware_evidence_roots)"),
        ("discover_fabric.yml", "fabric_ibnetdiscover=/no/such/file", "/no/such/file (fabric_ibnetdiscover)"),
        ("discover_fabric.yml", "fabric_host=gpu9", "gpu9 (fabric_host)"),
        ("explain.yml", "explain_host=gpu9", "explain_bundle is not set"),
    ],
)
def test_setting_that_cannot_be_used(play: Play, tmp_path: Path, playbook: str, setting: str, words: str) -> None:
    result = play(INVENTORY, playbook, options=("-e", setting))
    assert result.returncode != 0
    assert words in result.stdout.replace("\n", " ") or words in result.stderr.replace("\n", " ")
    assert not (tmp_path / "host_vars").exists()


def test_fabric_from_a_saved_file_needs_no_node_with_infiniband(play: Play, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.write_text("", encoding="utf-8")
    result = play(INVENTORY, "discover_fabric.yml", options=("-e", f"fabric_ibnetdiscover={saved}"))
    assert result.returncode == 0, result.stdout + result.stderr


def test_fabric_without_infiniband(play: Play) -> None:
    result = play(INVENTORY, "discover_fabric.yml")
    assert result.returncode == 0, result.stdout + result.stderr
