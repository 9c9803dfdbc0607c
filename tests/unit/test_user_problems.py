# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems that users of similar systems reported: each has a test here or elsewhere, or a reason on a page.

The list is tests/fixtures/user_problems.yml. A test counts for a thread only if its source names the thread, so that
nobody changes it without seeing what it is for.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.compare import settle
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
    derived,
    gpu,
    hgx,
    mig,
    record,
)

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "tests" / "unit"
BUNDLES = ROOT / "tests" / "fixtures" / "bundles"
ROWS: dict[str, dict[str, list[str] | str]] = yaml.safe_load(
    (ROOT / "tests" / "fixtures" / "user_problems.yml").read_text(encoding="utf-8")
)
THREADS = {thread: tests for section in ROWS.values() for thread, tests in section.items()}
# How tests spell repositories that they name often; else by the last part of the name.
SHORT = {
    "D": "deepops",
    "R": "ansible-role-openhpc",
    "S": "ansible-slurm-appliance",
    "O": "omnia",
    "BB": "bluebanquise",
    "TX": "trinityX",
}


@cache
def sources(path: str) -> dict[str, str]:
    """Return the source of each function (with its decorators) and of each table of a test file, by name."""
    text = (UNIT / path).read_text(encoding="utf-8")
    lines = text.splitlines()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found[ast.unparse(target)] = ast.get_source_segment(text, node) or ""
    return found


def threads(text: str) -> set[tuple[str, str]]:
    """Return (repository, number) of all threads that a text names; ``D#1 #2`` names two."""
    found = set()
    for name, numbers in re.findall(r"([\w./-]+?)((?:#\d+(?:,? (?=#))?)+)", text):
        repository = name.rpartition("/")[2]
        found |= {(SHORT.get(repository, repository), number) for number in re.findall(r"\d+", numbers)}
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D#1064, gpu-rules 40.", {("deepops", "1064")}),
        ("openhpc/ohpc#1910 #1344, R#5", {("ohpc", "1910"), ("ohpc", "1344"), ("ansible-role-openhpc", "5")}),
    ],
)
def test_spellings(text: str, expected: set[tuple[str, str]]) -> None:
    assert threads(text) == expected


@pytest.mark.parametrize("thread", THREADS)
def test_thread_has_a_test_that_names_it_or_a_reason(thread: str) -> None:
    tests = THREADS[thread]
    if isinstance(tests, str):
        assert f"{thread}: {tests}" in (ROOT / "docs" / "tests.md").read_text(encoding="utf-8")
        return
    assert tests
    for test in tests:
        path, name = test.split()
        assert name in sources(path), f"{path} has no {name}"
        assert (thread.partition("#")[0].rpartition("/")[2], thread.partition("#")[2]) in threads(
            sources(path)[name]
        ), f"{path} {name} does not name {thread}"


# --- tests that fit nowhere else ------------------------------------------------------------------------------------


def taken(*names: str) -> Any:
    """Return the record of fixture bundles laid over each other."""
    return take(Evidence([str(BUNDLES / name) for name in (*names, "cpu-2x56c-smt2")]), "n1", "")


def test_cpu_numbers_become_core_numbers() -> None:
    """NVIDIA/deepops#1195: 2 x 56 cores with two threads; the kernel lists 0-55,112-167 near to the first GPUs."""
    hardware = taken("hgx-h100-8gpu")
    assert (BUNDLES / "hgx-h100-8gpu/sys/bus/pci/devices/0000:1b:00.0/local_cpulist").read_text() == "0-55,112-167\n"
    assert [line.split("Cores=")[1].split()[0] for line in derived(hardware)["gres_lines"]] == ["0-55", "56-111"]


BRIDGED = [{"a": 0, "b": 1, "links": 4}]
KINDS: dict[str, dict[str, Any]] = {
    "plain": record("n1", [gpu(1, 0, cores="0-111"), gpu(2, 1, cores="0-111")]),
    "MIG": record("n1", [gpu(1, 0, instances=[mig("1g.10gb", 0, (3, 4))])]),
    "NVLink": record("n1", [gpu(1, 0, cores="0-111"), gpu(2, 1, cores="0-111")], nvlinks=BRIDGED),
}


@pytest.mark.parametrize(
    ("kind", "mode", "words"),
    [
        ("plain", "off", "AutoDetect=off Name=gpu Type=h100 File=/dev/nvidia[0-1] Flags"),
        ("plain", "nvidia", "AutoDetect=nvidia"),
        ("plain", "nvml", "AutoDetect=nvml"),
        ("MIG", "off", "AutoDetect=off Name=gpu Type=h100_1g.10gb MultipleFiles="),
        ("MIG", "nvidia", "AutoDetect=off Name=gpu Type=h100_1g.10gb MultipleFiles="),
        ("MIG", "nvml", "AutoDetect=nvml"),
        ("NVLink", "off", "Links=-1,4"),
        ("NVLink", "nvidia", "AutoDetect=nvidia"),
        ("NVLink", "nvml", "AutoDetect=nvml"),
    ],
)
def test_which_detection_describes_which_node(kind: str, mode: str, words: str) -> None:
    """S#746: nothing has to be built anew for plain GPUs; what a mode cannot describe keeps explicit lines."""
    assert words in derived(KINDS[kind], site={"gres_autodetect": mode})["gres_lines"][0]


def template(role: str, path: str) -> str:
    return (ROOT / "roles" / role / "templates" / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("present", [True, False])
def test_slurmd_waits_for_the_device_files(tmp_path: Path, present: bool) -> None:
    """BiBiServ/bibigrid#705, fgci-org/ansible-role-cuda#2 #3: slurmd gives up when a file of gres.conf is missing."""
    unit = template("slurm_node", "etc/systemd/system/slurmd.service.d/steelrack.conf.j2")
    assert "After=nvidia-persistenced.service" in unit
    assert "ExecStartPre=+{{ __slurm_node_wait }}" in unit
    script = tmp_path / "wait"
    script.write_text(template("slurm_node", "usr/local/sbin/steelrack-wait-for-gpus.j2"), encoding="utf-8")
    (tmp_path / "nvidia0").touch()
    if present:
        (tmp_path / "nvidia1").touch()
    files = f"{tmp_path}/nvidia0 {tmp_path}/nvidia1"
    done = subprocess.run(
        ["/bin/sh", str(script), "0"],
        env={**os.environ, "STEELRACK_GPU_DEVICES": files},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if present else 1)
    assert (f"missing after 0 s: {tmp_path}/nvidia1. Is the NVIDIA driver" in done.stderr) is not present


def test_a_device_cgroup_hides_gpus() -> None:
    """NVIDIA/deepops#1192 #1397: nvidia-smi finds nothing in a session inside a job; the bus does, the record stays."""
    hidden = taken("a100-device-cgroup")
    assert [problem["id"] for problem in hidden["problems"]] == ["GPU002"]
    assert len(hidden["gpus"]) == 4
    stored = taken("a100-4gpu-mig")
    assert settle(stored, hidden)[0] == stored


def test_nodes_with_and_without_gpus() -> None:
    """R#124 R#155."""
    result = derived(hgx("gpu1"), record("cpu1"), record("cpu2"))
    assert result["problems"] == []
    assert ["Gres=" in line for line in result["node_lines"]] == [False, True]
    assert result["gres_lines"][0].startswith("NodeName=gpu1 ")
    assert {part["name"]: part["nodes"] for part in result["partitions"]} == {"all": "cpu[1-2],gpu1", "h100": "gpu1"}


def test_detection_runs_as_root_and_says_so_where_it_does_not(tmp_path: Path) -> None:
    """S#656: without root the driver hides MIG devices."""
    plays = yaml.safe_load((ROOT / "playbooks" / "discover.yml").read_text(encoding="utf-8"))
    tasks = {next(key for key in task if "." in key): task for task in plays[0]["tasks"]}
    assert tasks["steelrack.gpu_cluster.node_hardware_info"]["become"] is True
    (tmp_path / "commands").mkdir()
    plain = "".join(
        line
        for line in (BUNDLES / "a100-4gpu-mig/commands/nvidia-smi_-L").read_text().splitlines(keepends=True)
        if line.startswith("GPU")
    )
    (tmp_path / "commands" / "nvidia-smi_-L").write_text(plain)
    roots = [str(tmp_path), str(BUNDLES / "a100-4gpu-mig"), str(BUNDLES / "cpu-2x56c-smt2")]
    (problem,) = take(Evidence(roots), "n1", "")["problems"]
    assert problem["id"] == "MIG002"
    assert "as root" in problem["remedy"]


def test_no_address_is_written_into_a_role() -> None:
    """O#3686: addresses come from the inventory. Loopback and "any" are the same everywhere."""
    address = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
    found = {
        (str(path.relative_to(ROOT)), text)
        for path in (ROOT / "roles").rglob("*")
        if path.is_file() and path.parts[-2:] != ("meta", "argument_specs.yml")
        for text in address.findall(path.read_text(encoding="utf-8"))
        if not text.startswith("127.") and text != "0.0.0.0"
    }
    assert found == set()
