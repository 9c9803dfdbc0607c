# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of host variables that a folder of the same name would hide."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.host_files import single_file


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param(["n1.yml"], "n1.yml", id="yml"),
        pytest.param(["n1.yaml"], "n1.yaml", id="yaml"),
        pytest.param(["n1"], "n1", id="no ending"),
        pytest.param(["n10.yml"], None, id="another host"),
        pytest.param(["n1.yml", "n1/hardware.yml"], None, id="the folder is there already"),
    ],
)
def test_single_file(tmp_path: Path, present: list[str], expected: str | None) -> None:
    for name in present:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert single_file(tmp_path, "n1") == (None if expected is None else tmp_path / expected)
