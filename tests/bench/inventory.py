# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of `ansible-inventory --list` on an inventory of records, without and with the inventory plugin hardware.

Run it from anywhere with the Python that has the collection's requirements; by default 10,000 records of nodes with
eight GPUs are written to a temporary folder. Prints both times and fails where the plugin more than doubles the time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / ".ansible" / "collections"
PLUGIN = "---\nplugin: steelrack.gpu_cluster.hardware\n"
FACTOR = 2.0


def write(folder: Path, size: int) -> None:
    """Write an inventory of ``size`` nodes with their records and racks."""
    from ansible_collections.steelrack.gpu_cluster.plugins.action.hardware_record import render
    from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import hgx

    (folder / "hosts.yml").write_text(f"---\nslurm_node:\n  hosts:\n    gpu[00001:{size:05d}]:\n")
    for number in range(1, size + 1):
        name = f"gpu{number:05d}"
        own = folder / "host_vars" / name
        own.mkdir(parents=True)
        (own / "hardware.yml").write_text(render(hgx(name)))
        (own / "place.yml").write_text(f"slurm_node_rack: r{number // 16}\n")


def seconds(folder: Path) -> float:
    """Return the time of one run."""
    command = [Path(sys.executable).parent / "ansible-inventory", "--inventory", folder, "--list"]
    start = time.perf_counter()
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
    }
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=ROOT)
    return time.perf_counter() - start


def main() -> int:
    """Measure both and return 1 if the plugin costs too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", nargs="?", type=int, default=10000, help="number of nodes")
    size = parser.parse_args().size
    sys.path.insert(0, str(COLLECTIONS))
    with tempfile.TemporaryDirectory(prefix="steelrack-bench-") as name:
        folder = Path(name)
        write(folder, size)
        without = seconds(folder)
        (folder / "records.steelrack.yml").write_text(PLUGIN)
        beside = seconds(folder)
    print(f"ansible-inventory --list with {size} records: {without:.1f} s")
    print(f"the same with the plugin hardware:       {beside:.1f} s, {beside / without:.2f} times (limit {FACTOR:.0f})")
    return 0 if beside <= FACTOR * without else 1


if __name__ == "__main__":
    sys.exit(main())
