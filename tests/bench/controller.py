# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real slurmctld with the generated files of 10,000 nodes of eight GPUs each: time to answer, memory, time of sinfo.

``python tests/bench/controller.py`` needs root and a Debian machine, like the oracle tier, whose cells it uses. It
prints one line a Slurm version and fails where slurmctld does not serve all nodes, says anything wrong, or a budget is
not kept.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / ".ansible" / "collections"), str(ROOT / "tests" / "oracle"), str(ROOT / "tests" / "bench")]

from derive import SITE, hostvars  # noqa: E402  scripts are not a package
from slurm import RELEASES, CellError, Files, faults, usable  # noqa: E402  nor is the oracle tier

SIZE = 10000
SERIES = ("24.11",)
# Until the first sinfo is answered, on two CPUs.
SECONDS = 60
MEGABYTES = 1000


def main() -> int:
    """Start slurmctld for each series, print a table and return 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=SIZE)
    parser.add_argument("--series", nargs="*", default=SERIES, help="22.05, 24.11, 26.05")
    arguments = parser.parse_args()
    if usable():
        raise SystemExit(f"A real slurmctld cannot be started here: {usable()}.")
    from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster

    variables = hostvars(arguments.nodes)
    names = list(variables)
    print(f"{'Slurm':<10} {'nodes':>7} {'serves after s':>14} {'sinfo s':>8} {'peak MB':>8}")
    fine = True
    for slurm in RELEASES:
        if slurm.series not in arguments.series:
            continue
        try:
            slurm.make()
        except CellError as error:
            raise SystemExit(str(error)) from error
        site = {**SITE, "version": slurm.version, "groups": {"rack1": names[: arguments.nodes // 10]}}
        result = slurm_cluster(names, variables, site)
        found = slurm.register(Files.of(result), {}, {}, timeout=SECONDS)
        listed = found.sinfo.split()
        print(
            f"{slurm.version:<10} {len(set(listed)):>7} {found.seconds:>14.1f} {found.sinfo_seconds:>8.2f} "
            f"{found.megabytes:>8.0f}",
            flush=True,
        )
        wrong = faults(found.logs["slurmctld"])
        print("\n".join(wrong[:10]), end="\n" if wrong else "")
        fine = fine and found.serves and set(listed) == set(names) and not wrong and found.megabytes <= MEGABYTES
    print(f"budget: {SECONDS} s, {MEGABYTES} MB: {'kept' if fine else 'NOT KEPT'}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
