# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sound cluster has no problem; each fault gives its own, and the tables say so too."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import text
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import CATALOGUE
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.cluster_check.judge import Evidence, judge, usable
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.cluster_check.report import report
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.cluster_check.requests import (
    node_requests,
    units_of,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import HostlistError

CAPS = "/dev/nvidia-caps/nvidia-cap"
MIGS = [["/dev/nvidia3", f"{CAPS}1", f"{CAPS}2"], ["/dev/nvidia3", f"{CAPS}3", f"{CAPS}4"]]


def gpu(minor: int, instances: list[list[str]] | None = None) -> dict[str, Any]:
    mig = {"mode": "enabled" if instances else "disabled", "instances": [{"files": files} for files in instances or []]}
    return {"pci": f"00000000:0{minor}:00.0", "minor": minor, "mig": mig}


RECORD = {"schema": 1, "host": "gpu2", "gpus": [gpu(0), gpu(1), gpu(2), gpu(3, MIGS)]}
FILES = ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3", *(f"{CAPS}{number}" for number in range(1, 5))]
LAYOUT = {"sockets": 2, "cores_per_socket": 8, "threads_per_core": 2, "cpus": 32, "real_memory": 250000}


def devices(*allowed: str) -> dict[str, str]:
    return {path: "ENXIO" if path in allowed else "EPERM" for path in FILES}


def job(node: str, number: str, gpu_type: str | None, opened: dict[str, str]) -> dict[str, Any]:
    gres = f",gres/gpu:{gpu_type}=1,gres/gpu=1" if gpu_type else ""
    return {
        "node": node,
        "cpus": 2,
        "gpu_type": gpu_type,
        "status": "done",
        "message": "",
        "seen": {
            "job": number,
            "cpus": 2,
            "cpus_allocated": "2",
            "gpus": "0" if gpu_type else None,
            "devices": opened,
        },
        "accounted": {"state": "COMPLETED", "alloctres": f"billing=2,cpu=2{gres},mem=100M,node=1"},
    }


def registered(gpus: dict[str, int]) -> dict[str, Any]:
    node = {**LAYOUT, "gpus": gpus, "state": "IDLE", "flags": ["IDLE"], "reason": "", "partitions": ["all"]}
    return copy.deepcopy(node)


def host(*units: str) -> dict[str, Any]:
    state = {"active": True, "state": "active (running)", "restarts": 0, "journal": ""}
    return {
        "units": {unit: dict(state) for unit in units},
        "time": 100.5,
        "control_before": 100.0,
        "control_after": 101.0,
    }


def sound() -> dict[str, Any]:
    """Return the fields of an Evidence in which nothing is wrong, to be changed by a test."""
    gpus = {"a100": 3, "a100_3g.40gb": 2}
    return {
        "cluster": {
            "nodes": [
                {**LAYOUT, "name": "cpu1", "gpus": {}, "device_files": []},
                {**LAYOUT, "name": "gpu2", "gpus": gpus, "device_files": FILES},
            ],
            "left_out": [],
        },
        "hosts": {"ctl1": host("munge", "slurmctld"), "cpu1": host("munge", "slurmd"), "gpu2": host("munge", "slurmd")},
        "records": {"gpu2": RECORD},
        "jobs": {
            "nodes": {"cpu1": registered({}), "gpu2": registered(gpus)},
            "jobs": [
                job("cpu1", "1", None, {}),
                job("gpu2", "2", "a100", devices("/dev/nvidia1")),
                job("gpu2", "3", "a100_3g.40gb", devices(*MIGS[1])),
            ],
            "error": "",
        },
        "asked": frozenset({"cpu1", "gpu2"}),
        "submit_host": "ctl1",
    }


def seen(index: int, **values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda fields: fields["jobs"]["jobs"][index]["seen"].update(values)


def of_job(index: int, **values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda fields: fields["jobs"]["jobs"][index].update(values)


def of_node(name: str, **values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda fields: fields["jobs"]["nodes"][name].update(values)


def of_unit(name: str, unit: str, **values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda fields: fields["hosts"][name]["units"][unit].update(values)


def of_host(name: str, **values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda fields: fields["hosts"][name].update(values)


def state(name: str, value: str, reason: str = "") -> Callable[[dict[str, Any]], Any]:
    return of_node(name, state=value, flags=sorted(text.flags(value)), reason=reason)


def test_sound_cluster_has_no_problem() -> None:
    evidence = Evidence(**sound())
    assert judge(evidence) == []
    shown = report(evidence, [])
    assert shown.splitlines()[-1] == "PASSED: 3 hosts, 3 of 3 jobs ran; 0 error(s), 0 warning(s)."
    assert "FAILED" not in shown


TRES = {"state": "COMPLETED", "alloctres": "billing=2,cpu=2,mem=100M,node=1"}
# What is changed, the only id that has to come out, its host, words of its text.
FAULTS: list[tuple[str, Callable[[dict[str, Any]], Any], str, str, list[str]]] = [
    (
        "unreachable",
        lambda fields: fields["hosts"].update(
            cpu1={"unreachable": True, "msg": "Failed to connect.\nNo route to host."}
        ),
        "VAL001",
        "cpu1",
        ["No route to host"],
    ),
    (
        "unit down",
        of_unit("gpu2", "slurmd", active=False, state="failed (failed)", journal="a\nb"),
        "VAL002",
        "gpu2",
        ["slurmd", "failed (failed)", "a / b"],
    ),
    ("unit restarted", of_unit("ctl1", "slurmctld", restarts=3289), "VAL003", "ctl1", ["3289"]),
    ("clock ahead", of_host("cpu1", time=401.0), "VAL004", "cpu1", ["300 s ahead"]),
    ("clock behind", of_host("cpu1", time=40.0), "VAL004", "cpu1", ["60 s behind"]),
    (
        "no slurmctld",
        lambda fields: fields["jobs"].update(error="scontrol: Unable to contact slurm controller", nodes={}, jobs=[]),
        "VAL005",
        "ctl1",
        ["Unable to contact"],
    ),
    (
        "submit host down",
        lambda fields: fields.update(jobs={"unreachable": True, "msg": "timed out"}),
        "VAL005",
        "ctl1",
        ["timed out"],
    ),
    ("not in slurmctld", lambda fields: fields["jobs"]["nodes"].pop("cpu1"), "VAL006", "cpu1", ["slurmctld"]),
    ("left out", lambda fields: fields["cluster"]["left_out"].append("gpu3"), "VAL007", "gpu3", ["discover.yml"]),
    ("drained", state("cpu1", "IDLE+DRAIN", "RMA 123"), "VAL008", "cpu1", ["IDLE+DRAIN", "RMA 123"]),
    ("invalid", state("gpu2", "inval", "gres/gpu count reported lower"), "VAL008", "gpu2", ["count reported lower"]),
    ("not responding", state("gpu2", "idle*"), "VAL008", "gpu2", ["none given"]),
    ("maintenance", state("gpu2", "MAINT"), "VAL009", "gpu2", ["MAINT"]),
    ("busy", of_job(1, status="busy", message="Resources", seen=None), "VAL009", "gpu2", ["a100", "Resources"]),
    ("other memory", of_node("gpu2", real_memory=1), "VAL010", "gpu2", ["memory (MiB) 1,", "250000"]),
    ("fewer GPUs", of_node("gpu2", gpus={"a100": 3}), "VAL010", "gpu2", ["3 x a100,", "2 x a100_3g.40gb"]),
    (
        "refused",
        of_job(1, status="failed", message="srun: error: Invalid account.", seen=None),
        "VAL011",
        "gpu2",
        ["Invalid account.", "--gres=gpu:a100:1", "validate_cluster_account"],
    ),
    ("hanging", of_job(0, status="hung", message="state RUNNING", seen=None), "VAL012", "cpu1", ["RUNNING"]),
    ("all CPUs", seen(0, cpus=32), "VAL013", "cpu1", ["asked for 2 CPUs and could use 32"]),
    ("no GPU", seen(1, gpus=None), "VAL014", "gpu2", ["got 0"]),
    ("two GPUs", seen(1, gpus="0,1"), "VAL014", "gpu2", ["got 2"]),
    ("GPU without a job's wish", seen(0, gpus="0"), "VAL014", "cpu1", ["got 1"]),
    ("closed GPU", seen(1, devices=devices()), "VAL015", "gpu2", ["EPERM from /dev/nvidia0", "and 5 more"]),
    ("half a MIG device", seen(2, devices=devices(*MIGS[0][:2])), "VAL015", "gpu2", ["a100_3g.40gb"]),
    (
        "neighbour's GPU",
        seen(1, devices=devices("/dev/nvidia0", "/dev/nvidia1")),
        "VAL016",
        "gpu2",
        ["/dev/nvidia0", "ConstrainDevices"],
    ),
    ("neighbour's MIG device", seen(2, devices=devices(*MIGS[0], *MIGS[1])), "VAL016", "gpu2", [f"{CAPS}1"]),
    (
        "missing file",
        seen(1, devices={**devices("/dev/nvidia1"), "/dev/nvidia2": "ENOENT"}),
        "VAL017",
        "gpu2",
        ["/dev/nvidia2"],
    ),
    ("no record", of_job(1, accounted=None), "VAL018", "gpu2", ["Job 2", "sacct"]),
    ("no TRES", of_job(1, accounted=TRES), "VAL019", "gpu2", ["gres/gpu=1 and gres/gpu:a100=1"]),
    (
        "failed in sacct",
        lambda fields: fields["jobs"]["jobs"][0]["accounted"].update(state="CANCELLED by 0"),
        "VAL019",
        "cpu1",
        ["CANCELLED"],
    ),
    ("foreign node", lambda fields: fields["jobs"]["nodes"].update(old9=registered({})), "VAL020", "old9", ["old9"]),
    ("no partition", of_node("cpu1", partitions=[]), "VAL021", "cpu1", ["slurm_partitions"]),
]


@pytest.mark.parametrize(
    ("change", "problem_id", "where", "words"), [pytest.param(*row[1:], id=row[0]) for row in FAULTS]
)
def test_fault_gives_its_problem_only(
    change: Callable[[dict[str, Any]], Any], problem_id: str, where: str, words: list[str]
) -> None:
    fields = sound()
    change(fields)
    evidence = Evidence(**fields)
    problems = judge(evidence)
    assert [(problem.id, problem.host) for problem in problems] == [(problem_id, where)]
    for word in words:
        assert word in problems[0].message + problems[0].remedy
    shown = report(evidence, problems)
    assert shown.splitlines()[-1].startswith("FAILED" if problems[0].severity == "error" else "PASSED")
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_every_kind_of_problem_has_a_test() -> None:
    assert {row[2] for row in FAULTS} == {problem_id for problem_id in CATALOGUE if problem_id.startswith("VAL")}


def test_more_than_asked_is_right_if_it_was_allocated() -> None:
    fields = sound()
    seen(0, cpus=32, cpus_allocated="32")(fields)
    assert judge(Evidence(**fields)) == []


def test_without_accounting_no_record_is_missed() -> None:
    fields = sound()
    of_job(1, accounted=None)(fields)
    assert judge(replace(Evidence(**fields), accounting=False)) == []


def test_slow_connection_is_no_difference_of_clocks() -> None:
    fields = sound()
    of_host("cpu1", time=104.0, control_before=100.0, control_after=190.0)(fields)
    assert judge(Evidence(**fields)) == []


def test_all_faults_are_told_at_once() -> None:
    fields = sound()
    for change in (of_unit("gpu2", "slurmd", active=False), state("cpu1", "DOWN"), of_job(1, accounted=None)):
        change(fields)
    assert [problem.id for problem in judge(Evidence(**fields))] == ["VAL002", "VAL008", "VAL018"]


def test_set_aside_node_that_was_not_asked_for_is_not_mentioned() -> None:
    fields = sound()
    state("gpu2", "MAINT")(fields)
    assert judge(Evidence(**{**fields, "asked": frozenset({"cpu1"})})) == []


@pytest.mark.parametrize(
    ("answers", "units"),
    [
        ({}, []),
        (devices(), []),
        (devices("/dev/nvidia0"), [("/dev/nvidia0",)]),
        # The GPU's own file alone gives access to none of its MIG devices.
        (devices("/dev/nvidia3"), []),
        (devices(*MIGS[0]), [tuple(MIGS[0])]),
        ({**devices(), "/dev/nvidia1": "ok"}, [("/dev/nvidia1",)]),
        ({**devices(), "/dev/nvidia1": "EIO"}, [("/dev/nvidia1",)]),
        ({**devices(), "/dev/nvidia1": "EACCES"}, []),
        ({**devices(), "/dev/nvidia1": "ENOENT"}, []),
    ],
)
def test_usable(answers: dict[str, str], units: list[tuple[str, ...]]) -> None:
    assert usable(answers, RECORD) == units


def test_thousand_equal_nodes_are_one_row() -> None:
    fields = sound()
    names = [f"cpu{number:04}" for number in range(1, 1001)]
    fields["cluster"]["nodes"] = [{**LAYOUT, "name": name, "gpus": {}, "device_files": []} for name in names]
    fields["hosts"] = {name: host("munge", "slurmd") for name in names}
    fields["jobs"]["nodes"] = {name: registered({}) for name in names}
    fields["jobs"]["jobs"] = [job(name, str(index), None, {}) for index, name in enumerate(names)]
    evidence = Evidence(**fields)
    problems = judge(evidence)
    assert problems == []
    assert report(evidence, problems).count("cpu[0001-1000]") == 2


def test_requests() -> None:
    assert node_requests(sound()["cluster"]) == [
        {"name": "cpu1", "cpus": 2, "gpu_types": [], "files": []},
        {"name": "gpu2", "cpus": 2, "gpu_types": ["a100", "a100_3g.40gb"], "files": FILES},
    ]
    assert [request["name"] for request in node_requests(sound()["cluster"], ["gpu[2-2]"])] == ["gpu2"]
    assert [request["name"] for request in node_requests(sound()["cluster"], "gpu2,cpu1")] == ["cpu1", "gpu2"]


def test_request_of_an_unknown_node() -> None:
    with pytest.raises(HostlistError, match="gpu3"):
        node_requests(sound()["cluster"], ["gpu[2-3]"])


def test_units() -> None:
    assert units_of(["all", "slurm_controller", "slurm_dbd", "mariadb"]) == [
        "munge",
        "slurmctld",
        "slurmdbd",
        "mariadb",
    ]
    assert units_of(["ungrouped"]) == []
