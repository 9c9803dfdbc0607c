# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script inside a job, really run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import probe


def test_script_tries_every_file_and_tells_what_the_job_has(tmp_path: Path) -> None:
    allowed, absent = tmp_path / 'it\'s "here"', tmp_path / "absent"
    allowed.touch()
    done = subprocess.run(
        [sys.executable, "-"],
        input=probe.script([str(allowed), str(absent), str(tmp_path)]),
        env={"SLURM_JOB_ID": "12", "SLURMD_NODENAME": "gpu1", "SLURM_CPUS_ON_NODE": "2", "CUDA_VISIBLE_DEVICES": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    seen = probe.answer(f"line of a prolog\n{done.stdout}")
    assert seen is not None
    assert seen["devices"] == {str(allowed): "ok", str(absent): "ENOENT", str(tmp_path): "EISDIR"}
    assert (seen["job"], seen["node"], seen["gpus"], seen["cpus_allocated"]) == ("12", "gpu1", "0", "2")
    assert seen["cpus"] == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("output", ["", "hello\n", probe.MARK, probe.MARK + "{broken", probe.MARK + "[1]"])
def test_no_answer(output: str) -> None:
    assert probe.answer(output) is None
