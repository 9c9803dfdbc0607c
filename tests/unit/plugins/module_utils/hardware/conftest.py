# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines for the tests of detection: the fixture bundles, and others made of the same parts."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.health import examine
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
TAKEN_AT = "2026-11-30T19:31:44Z"

Files = Mapping[str, "bytes | str"]


@pytest.fixture(scope="session")
def bundles_dir() -> Path:
    """Return the folder of the committed bundles."""
    return FIXTURES / "bundles"


@pytest.fixture(scope="session")
def parts() -> ModuleType:
    """Return the script that makes the bundles, as a module."""
    spec = importlib.util.spec_from_file_location("make_bundles", FIXTURES / "make_bundles.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_bundles"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def lay(tmp_path: Path) -> Callable[..., str]:
    """Return a function that lays files (path -> content) below a new root and returns its path."""
    count = iter(range(1000))

    def _lay(files: Files) -> str:
        root = tmp_path / f"root{next(count)}"
        root.mkdir()
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(root)

    return _lay


@pytest.fixture
def evidence(lay: Callable[..., str]) -> Callable[..., Evidence]:
    """Return a function that makes evidence of files, or of several layers of files."""
    return lambda *layers: Evidence([lay(files) for files in layers])


@pytest.fixture
def record_of(evidence: Callable[..., Evidence]) -> Callable[..., dict[str, Any]]:
    """Return a function that takes the record of the node gpu001 from layers of files."""
    return lambda *layers: take(evidence(*layers), "gpu001", TAKEN_AT)


@pytest.fixture
def health_of(evidence: Callable[..., Evidence]) -> Callable[..., list[dict[str, str]]]:
    """Return a function that examines the health of the node gpu001 in layers of files."""
    return lambda *layers: [problem.as_dict() for problem in examine(evidence(*layers), "gpu001")]
