# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What slurmd needs to detect GPUs by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.modules import slurm_autodetect_info


@pytest.fixture
def check(run_module: Any, program: Any, tmp_path: Path) -> Any:
    """Return a function that lays files and runs the module on a node whose slurmd has a version."""

    def run(mode: str, version: str, *files: str) -> list[dict[str, str]]:
        program("slurmd", f"echo slurm-wlm {version}")
        for folder in ("slurm", "lib"):
            (tmp_path / folder).mkdir()
        for name in files:
            (tmp_path / name).touch()
        result = run_module(
            slurm_autodetect_info,
            host="gpu001",
            mode=mode,
            plugin_dirs=[str(tmp_path / "absent"), str(tmp_path / "slurm")],
            library_dirs=[str(tmp_path / "absent"), str(tmp_path / "lib")],
        )
        assert (result["changed"], result["version"]) == (False, version)
        return result["problems"]

    return run


NVML = ("slurm/gpu_nvml.so", "lib/libnvidia-ml.so.1")


@pytest.mark.parametrize(
    ("mode", "version", "files", "problems"),
    [
        ("nvml", "24.11.5", NVML, []),
        ("nvidia", "24.11.5", ("slurm/gpu_nvidia.so",), []),
        pytest.param("nvml", "24.11.5", NVML[1:], ["SLM044"], id="openhpc/ohpc#1910 #1344 packages without NVML"),
        pytest.param("nvml", "24.11.5", (), ["SLM044", "SLM045"], id="D#1214 SlinkyProject/containers#14 neither"),
        pytest.param("nvidia", "22.05.8", NVML, ["SLM044"], id="S#746 nvidia needs 24.11"),
        pytest.param("nvml", "24.11.5", NVML[:1], ["SLM045"], id="no driver"),
        pytest.param("nvml", "22.05.8", NVML, ["SLM045"], id="crusoecloud/slurm#13 only the versioned library"),
        pytest.param("nvml", "22.05.8", (*NVML, "lib/libnvidia-ml.so"), [], id="both names"),
        ("off", "24.11.5", (), []),
    ],
)
def test_what_is_missing(check: Any, mode: str, version: str, files: tuple[str, ...], problems: list[str]) -> None:
    found = check(mode, version, *files)
    assert [problem["id"] for problem in found] == problems
    assert all("gpu001" in problem["message"] for problem in found)


def test_the_message_says_where_was_looked_and_what_to_do(check: Any, tmp_path: Path) -> None:
    (problem,) = check("nvml", "24.11.5", "lib/libnvidia-ml.so.1")
    assert f"no gpu_nvml.so (looked in {tmp_path}/slurm)" in problem["message"]
    assert "slurm-wlm-nvml-plugin" in problem["remedy"]
    assert "slurm_gres_autodetect to off" in problem["remedy"]


def test_the_link_that_is_missing_is_named(check: Any, tmp_path: Path) -> None:
    (problem,) = check("nvml", "22.05.8", *NVML)
    assert (
        f"no libnvidia-ml.so, which Slurm 22.05.8 opens by that name alone (there is {tmp_path}/lib"
        in (problem["message"])
    )


def test_a_dangling_link_does_not_count(check: Any, tmp_path: Path) -> None:
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.550.54.14")
    assert slurm_autodetect_info.find([str(tmp_path / "lib64")], "libnvidia-ml.so.1") is None


def test_nothing_is_checked_before_slurmd_is_there(run_module: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(slurm_autodetect_info.AnsibleModule, "get_bin_path", lambda *_args, **_options: None)
    result = run_module(slurm_autodetect_info, host="gpu001", mode="nvml", plugin_dirs=[], library_dirs=[])
    assert (result["version"], result["problems"]) == ("", [])
