# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time and memory of deriving the Slurm configuration with its topology: 10 to 10,000 nodes of eight GPUs each.

Run it from anywhere with the Python that has the collection's requirements; it prints one line a size and fails where a
budget is not kept. Memory is the peak of a process of its own for each size, the records included.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from pathlib import Path
from typing import Any

COLLECTIONS = Path(__file__).resolve().parents[2] / ".ansible" / "collections"
SIZES = (10, 1000, 10000)
SECONDS = 3.0
MEGABYTES = 500
SITE = {
    "cluster_name": "bench",
    "version": "24.11",
    "partitions": [
        {"name": "long", "nodes": ["gpu_type:h100"], "parameters": {"MaxTime": "7-00:00:00"}},
        {"name": "rack1", "nodes": ["rack1"], "parameters": {"MaxTime": "1:00:00"}},
    ],
}


def hostvars(size: int) -> dict[str, dict[str, Any]]:
    """Return variables of ``size`` nodes: two models, MIG on some, memory that differs by some MiB, racks."""
    from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
        gpu,
        hgx,
        mig,
        record,
    )

    slices = [mig("1g.10gb", 7, (66 + 9 * part, 67 + 9 * part)) for part in range(7)]
    result: dict[str, dict[str, Any]] = {}
    for number in range(1, size + 1):
        name = f"gpu{number:05d}"
        kind = number * 10 // (size + 1)
        memory = 2063878 - number % 40
        if kind < 6:
            one = hgx(name, memory_mib=memory)
        elif kind < 9:
            one = hgx(name, "nvidia_a100-sxm4-80gb", memory_mib=memory // 2)
        else:
            whole = [gpu(0x18 + at, at, cores="0-55" if at < 4 else "56-111") for at in range(7)]
            one = record(name, [*whole, gpu(0x1F, 7, cores="56-111", instances=slices)], memory_mib=memory)
        one["fabric"]["hcas"] = [
            {"name": f"mlx5_{at}", "guid": f"0x{number:012x}{at:04x}", "ports": []} for at in range(8)
        ]
        rails = [
            {"adapter": f"mlx5_{at}", "switch": f"leaf-{number // 32}-{at}", "id": f"0x{number // 32}{at}", "port": "1"}
            for at in range(8)
        ]
        result[name] = {
            "node_hardware": one,
            "node_fabric": {"schema": 1, "host": name, "infiniband": rails, "lldp": []},
            "ansible_host": f"10.{number // 62500}.{number // 250 % 250}.{number % 250 + 1}",
            "slurm_node_rack": f"r{number // 16}" if number % 2 else "",
        }
    return result


def measure(size: int) -> tuple[float, float, int]:
    """Return seconds, peak memory of this process in MB, and the number of lines."""
    from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster
    from ansible_collections.steelrack.gpu_cluster.plugins.filter.topology import slurm_topology

    variables = hostvars(size)
    hosts = list(variables)
    site = {**SITE, "groups": {"rack1": hosts[: size // 10]}}
    start = time.perf_counter()
    result = slurm_cluster(hosts, variables, site)
    wish = {"version": "24.11", "topology": ["tree"], "source": "infiniband"}
    topology = slurm_topology([node["name"] for node in result["nodes"]], variables, wish)
    seconds = time.perf_counter() - start
    problems = result["problems"] + topology["problems"]
    if problems or len(result["nodes"]) != size:
        raise SystemExit(f"{size} nodes: unexpected problems: {problems[:3]}")
    lines = sum(len(result[kind]) for kind in ("node_lines", "gres_lines", "partition_lines"))
    lines += len(topology["leaves"])
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, lines


def main() -> int:
    """Measure each size in a process of its own, print a table and return 1 if a budget is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="numbers of nodes")
    sizes = parser.parse_args().sizes
    sys.path.insert(0, str(COLLECTIONS))
    print(f"{'nodes':>7} {'seconds':>8} {'ms/node':>8} {'peak MB':>8} {'lines':>6}")
    kept = True
    for size in sizes:
        with multiprocessing.get_context("spawn").Pool(
            1, initializer=sys.path.insert, initargs=(0, str(COLLECTIONS))
        ) as pool:
            seconds, megabytes, lines = pool.apply(measure, (size,))
        print(f"{size:>7} {seconds:>8.3f} {seconds / size * 1000:>8.3f} {megabytes:>8.0f} {lines:>6}", flush=True)
        kept = kept and seconds <= SECONDS and megabytes <= MEGABYTES
    print(f"budget for 10,000 nodes: {SECONDS:.0f} s, {MEGABYTES} MB: {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
