# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the collection importable from a plain checkout, under xdist and under ansible-test."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT.parent / "shared" / "captures"


def _collections_dir() -> Path:
    if ROOT.parts[-3:-1] == ("ansible_collections", "steelrack"):
        return ROOT.parents[2]
    collections = ROOT / ".ansible" / "collections"
    link = collections / "ansible_collections" / "steelrack" / "gpu_cluster"
    if not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../../../..", target_is_directory=True)
    return collections


try:
    from ansible.plugins.loader import init_plugin_loader
except ImportError:  # ansible-test hides the controller's code from tests of modules
    pass
else:
    init_plugin_loader([str(_collections_dir())])


@pytest.fixture(scope="session")
def captures() -> Path:
    """Return the folder of public captures; tests that need it are skipped where it is not laid beside the checkout."""
    if not CAPTURES.is_dir():
        pytest.skip(f"no captures at {CAPTURES}")
    return CAPTURES
