# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The oracle: all machines as one cluster, put before each Slurm once, and the table at the end.

The questions that the collected tests will ask are asked ahead on all CPUs; a test waits for its answer and judges it.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

# E402 here and below: the tier and the collection can be imported only after the paths above and the loader are set.
from ansible.plugins.loader import init_plugin_loader  # noqa: E402

init_plugin_loader([str(ROOT / ".ansible" / "collections")])

from cases import CAPTURES, LEFT_OUT, Case, every_case  # noqa: E402
from controls import CONTROLS, Control  # noqa: E402
from slurm import RELEASES, Answer, CellError, Files, Machine, Registration, Slurm, usable  # noqa: E402

from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster  # noqa: E402
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence  # noqa: E402
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take  # noqa: E402

TAKEN_AT = "2026-11-30T19:31:44Z"
CASES = {case.name: case for case in every_case()}
SLURM_IDS = [f"slurm-{release.series}" for release in RELEASES]


def seen_by_driver(case: Case) -> dict[str, str]:
    """Return the files in which driver and bus show the GPUs of a machine; none where MIG or nothing is there."""
    files = {}
    shows = next((layer for layer in case.layers if any(path.endswith("/information") for path in layer)), None)
    for layer in reversed(case.layers):
        for path, content in layer.items():
            bus = re.fullmatch(r"sys/bus/pci/devices/([^/]+)/local_cpulist", path)
            if layer is shows and path.startswith("proc/driver/nvidia/"):
                files[path] = content.decode()
            elif bus:
                files[f"sys/bus/pci/drivers/nvidia/{bus[1]}/local_cpulist"] = content.decode()
    return files if shows and all(len(device) == 1 for device in case.devices) else {}


class Oracle:
    """All cases as one cluster: their records, what is derived from them, and what Slurm says of it."""

    def __init__(self, folder: Path) -> None:
        self.machines: dict[str, Machine] = {}
        self.records: dict[str, dict[str, Any]] = {}
        for name, case in CASES.items():
            roots = case.lay(folder / name)
            self.machines[name] = case.machine(roots)
            self.records[name] = take(Evidence(roots), name, TAKEN_AT)
        self.addresses = {name: f"10.1.{at // 200}.{at % 200 + 1}" for at, name in enumerate(sorted(CASES))}
        self._pool = ThreadPoolExecutor((os.cpu_count() or 1) + 1)
        self._answers: dict[tuple[Any, ...], Future[Any]] = {}
        self.derived = cache(self._derive)

    def _derive(self, slurm: Slurm, cluster: str = "all") -> Mapping[str, Any]:
        hostvars = {
            name: {"node_hardware": record, "ansible_host": self.addresses[name], **CASES[name].variables}
            for name, record in self.records.items()
            if CASES[name].cluster == cluster
        }
        return slurm_cluster(list(hostvars), hostvars, {"version": slurm.version})

    def files(self, slurm: Slurm, cluster: str = "all") -> Files:
        """Return the files of a whole cluster."""
        return Files.of(self.derived(slurm, cluster))

    def node(self, slurm: Slurm, name: str) -> Mapping[str, Any]:
        """Return what was derived for one node."""
        return next(node for node in self.derived(slurm, CASES[name].cluster)["nodes"] if node["name"] == name)

    def problems(self, slurm: Slurm, name: str) -> list[str]:
        """Return the ids of the problems of one node."""
        return [
            problem["id"] for problem in self.derived(slurm, CASES[name].cluster)["problems"] if problem["host"] == name
        ]

    def _ask(self, key: tuple[Any, ...], question: Callable[[], Any]) -> Future[Any]:
        if key not in self._answers:
            self._answers[key] = self._pool.submit(question)
        return self._answers[key]

    def ask_slurmd(self, slurm: Slurm, name: str) -> Future[tuple[Answer, Answer]]:
        """Ask ``slurmd`` for the layout of a machine (``-C``) and for the devices of the node (``-G``)."""

        def question() -> tuple[Answer, Answer]:
            options = ["-C", f"-G -N {name}"] if not CASES[name].refused else ["-C"]
            layout, *devices = slurm.ask(name, options, self.machines[name], self.files(slurm, CASES[name].cluster))
            return layout, devices[0] if devices else layout

        return self._ask(("slurmd", slurm, name), question)

    def ask_witness(self, slurm: Slurm, name: str) -> Future[tuple[Answer, Answer]]:
        """Ask ``slurmd -C`` and ``slurmd -G`` with AutoDetect=nvidia for the GPUs that Slurm itself detects."""

        def question() -> tuple[Answer, Answer]:
            record = self.records[name]
            cpu = record["cpu"]
            counts = Counter(gpu["type"] for gpu in record["gpus"])
            lines = (
                f"GresTypes=gpu\nNodeName={name} CPUs={cpu['cpus']} Sockets={cpu['sockets']} "
                f"CoresPerSocket={cpu['cores_per_socket']} ThreadsPerCore={cpu['threads_per_core']} "
                f"Gres={','.join(f'gpu:{kind}:{count}' for kind, count in counts.items())}\n"
                "PartitionName=all Nodes=ALL\n"
            )
            machine = replace(self.machines[name], files=seen_by_driver(CASES[name]))
            layout, devices = slurm.ask(name, ["-C", f"-G -N {name}"], machine, Files(lines, "AutoDetect=nvidia\n"))
            return layout, devices

        return self._ask(("witness", slurm, name), question)

    def ask_registration(self, slurm: Slurm, cluster: str = "all") -> Future[Registration]:
        """Ask slurmctld and a slurmd of every node to form the cluster."""

        def question() -> Registration:
            names = [node["name"] for node in self.derived(slurm, cluster)["nodes"]]
            machines = {name: self.machines[name] for name in names}
            return slurm.register(self.files(slurm, cluster).small(), machines, self.addresses, timeout=120)

        return self._ask(("registration", slurm, cluster), question)

    def ask_control(self, slurm: Slurm, control: Control) -> Future[tuple[bool, str]]:
        """Ask whether a node with wrong files would work, and what is said of it."""
        return self._ask(("control", slurm, id(control)), lambda: control.ask(slurm))

    def close(self) -> None:
        """Drop the questions that nobody waits for."""
        self._pool.shutdown(cancel_futures=True)


def pytest_configure(config: pytest.Config) -> None:
    """Make the roots before anything is collected; without them there is nothing to test, and that is a failure."""
    config.stash[_RESULTS] = defaultdict(Counter)
    if config.option.collectonly:
        return
    reason = usable()
    if reason:
        raise pytest.UsageError(f"The oracle tier cannot run here: {reason}.")
    try:
        with ThreadPoolExecutor(len(RELEASES)) as pool:
            list(pool.map(Slurm.make, RELEASES))
    except CellError as error:
        raise pytest.UsageError(f"The oracle tier cannot run: {error}") from error


_RESULTS = pytest.StashKey[defaultdict[str, Counter[str]]]()
_ORACLE = pytest.StashKey[Oracle]()


@pytest.fixture(scope="session")
def oracle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Return the oracle, with the questions of all collected tests already asked."""
    made = Oracle(tmp_path_factory.mktemp("machines"))
    # Waiting is most of a registration, so these start first.
    wanted = [item for item in request.session.items if isinstance(item, pytest.Function)]
    for item in wanted:
        if "registration" in item.fixturenames:
            params = item.callspec.params
            made.ask_registration(params["slurm"], params["case"].cluster if "case" in params else "all")
    for item in wanted:
        if "control" in item.fixturenames:
            made.ask_control(item.callspec.params["slurm"], item.callspec.params["control"])
    for item in wanted:
        if {"layout", "devices"} & set(item.fixturenames):
            made.ask_slurmd(item.callspec.params["slurm"], item.callspec.params["case"].name)
        if "witness" in item.fixturenames:
            made.ask_witness(item.callspec.params["slurm"], item.callspec.params["case"].name)
    yield made
    made.close()


@pytest.fixture(params=RELEASES, ids=SLURM_IDS)
def slurm(request: pytest.FixtureRequest) -> Slurm:
    """Return one release."""
    release: Slurm = request.param
    return release


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    """Return one machine."""
    one: Case = request.param
    return one


@pytest.fixture(params=CONTROLS.values(), ids=list(CONTROLS))
def control(request: pytest.FixtureRequest) -> Control:
    """Return wrong files."""
    one: Control = request.param
    return one


@pytest.fixture
def devices(oracle: Oracle, slurm: Slurm, case: Case) -> Answer:
    """Return the answer of ``slurmd -G``; that of a machine that is refused is not asked for."""
    return oracle.ask_slurmd(slurm, case.name).result()[1]


@pytest.fixture
def layout(oracle: Oracle, slurm: Slurm, case: Case) -> Answer:
    """Return the answer of ``slurmd -C``."""
    return oracle.ask_slurmd(slurm, case.name).result()[0]


@pytest.fixture
def witness(oracle: Oracle, slurm: Slurm, case: Case) -> tuple[Answer, Answer]:
    """Return what Slurm's own detection answers."""
    return oracle.ask_witness(slurm, case.name).result()


@pytest.fixture
def registration(oracle: Oracle, slurm: Slurm, request: pytest.FixtureRequest) -> Registration:
    """Return how the cluster of the machine, or of all machines, came up."""
    cluster = request.getfixturevalue("case").cluster if "case" in request.fixturenames else "all"
    return oracle.ask_registration(slurm, cluster).result()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Count results by machine and release."""
    outcome: Any = yield
    report = outcome.get_result()
    if isinstance(item, pytest.Function) and hasattr(item, "callspec") and "slurm" in item.callspec.params:
        params = item.callspec.params
        row = params["case"].name if "case" in params else f"({item.originalname})"
        if report.when == "call" or report.failed:
            item.config.stash[_RESULTS][row][f"{params['slurm'].series} {report.outcome}"] += 1


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print machine x Slurm version, what was left out and why, and the count of cases."""
    results = config.stash[_RESULTS]
    if not results:
        return
    versions = {release.series: release.version for release in RELEASES}
    width = max(map(len, results))
    line = terminalreporter.write_line
    terminalreporter.section("machine x Slurm version")
    line(f"{'':<{width}}  " + "  ".join(f"{version:<12}" for version in versions.values()))
    for row, counts in results.items():
        cells = []
        for series in versions:
            failed, passed = counts[f"{series} failed"], counts[f"{series} passed"]
            refused = " refused" if row in CASES and CASES[row].refused else ""
            cells.append(f"{failed} FAILED" if failed else f"ok{refused}" if passed else "-")
        line(f"{row:<{width}}  " + "  ".join(f"{cell:<12}" for cell in cells))
    if CAPTURES.is_dir():
        terminalreporter.section("captures from which no node can be made")
        for name, reason in LEFT_OUT.items():
            line(f"{name}: {reason}")
    else:
        line(f"No captures at {CAPTURES}: only bundles and made-up processors were tested.")
    total = sum(count for counts in results.values() for count in counts.values())
    failed = sum(count for counts in results.values() for key, count in counts.items() if key.endswith("failed"))
    machines = sum(row in CASES for row in results)
    line(f"{machines} machines x {len(versions)} Slurm versions: {total} checks, {failed} failed")
