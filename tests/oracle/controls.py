# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are wrong in one way each, and what each Slurm must say of them: proof that the oracle can fail.

They are also the record of what a version accepts; where one of these changes its mind, the rules of the derivation
(plugins/plugin_utils/slurm/versions.py) have to follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cases import CAPTURES
from slurm import Files, Machine, Registration, Slurm, faults, synthetic

NODE = "n1"
ADDRESS = "10.1.0.1"


def conf(gres: str = "gpu:h100:8", layout: tuple[int, int, int] = (2, 56, 2), extra: str = "RealMemory=1000") -> str:
    """Return slurm.conf lines of one node."""
    sockets, cores, threads = layout
    return (
        f"GresTypes=gpu\nNodeName={NODE} NodeAddr={ADDRESS} CPUs={sockets * cores * threads} Sockets={sockets} "
        f"CoresPerSocket={cores} ThreadsPerCore={threads} Gres={gres} {extra} State=UNKNOWN\n"
        "PartitionName=all Nodes=ALL Default=YES\n"
    )


def gres(*lines: str) -> str:
    """Return a gres.conf whose lines need only say what differs."""
    start = f"NodeName={NODE} AutoDetect=off Name=gpu"
    return "\n".join(["AutoDetect=off", *(f"{start} {line} Flags=nvidia_gpu_env" for line in lines), ""])


def machine(count: int = 8, layout: tuple[int, int, int] = (2, 56, 2)) -> Machine:
    """Return a machine with so many GPUs."""
    return Machine(synthetic(*layout), [f"/dev/nvidia{number}" for number in range(count)])


@dataclass(frozen=True)
class Control:
    """Files of one node. ``parser``: asked of ``slurmd -G``, else of slurmctld and slurmd.

    ``expected``: series -> what must be said, empty where the version takes the files.
    """

    slurm: str
    gres: str
    expected: dict[str, str]
    machine: Machine = field(default_factory=machine)
    parser: bool = False

    def ask(self, slurm: Slurm) -> tuple[bool, str]:
        """Return whether the node would work, and all that was said."""
        files = Files(self.slurm, self.gres)
        if self.parser:
            answer = slurm.generic_resources(NODE, self.machine, files)
            return answer.status == 0 and not answer.faults, "\n".join(answer.messages)
        registration = slurm.register(files, {NODE: self.machine}, {NODE: ADDRESS}, timeout=20)
        return works(registration), text(registration)


def works(registration: Registration) -> bool:
    """Say whether the node is free for jobs and nothing wrong was said."""
    free = registration.serves and registration.nodes[NODE]["State"] == "IDLE"
    return free and not any(faults(log) for log in registration.logs.values())


def text(registration: Registration) -> str:
    """Return the reason of the node and all logs."""
    reason = registration.nodes[NODE]["Reason"] if registration.serves else ""
    return "\n".join([reason, *(line for log in registration.logs.values() for line in log)])


def always(message: str) -> dict[str, str]:
    """Return the same expectation of every version."""
    return dict.fromkeys(("22.05", "24.11", "26.05"), message)


ALL_EIGHT = "Type=h100 File=/dev/nvidia[0-7]"
FOUR_SOCKETS = (4, 16, 1)
BOUNDARY = "doesn't match socket boundaries"

CONTROLS = {
    "nothing-wrong": Control(
        conf(), gres("Type=h100 File=/dev/nvidia[0-3] Cores=0-55", "Type=h100 File=/dev/nvidia[4-7] Cores=56-111"),
        always(""),
    ),
    "cores-of-half-a-socket": Control(
        conf(), gres(f"{ALL_EIGHT} Cores=0-27"), {"22.05": "", "24.11": BOUNDARY, "26.05": BOUNDARY}
    ),
    "cores-of-two-of-four-sockets": Control(
        conf(layout=FOUR_SOCKETS), gres(f"{ALL_EIGHT} Cores=0-31"), {"22.05": "", "24.11": "", "26.05": BOUNDARY},
        machine(layout=FOUR_SOCKETS),
    ),
    "cores-that-the-node-has-not": Control(
        conf(), gres(f"{ALL_EIGHT} Cores=56-119"), always("[Ii]nvalid GRES core specification")
    ),
    "missing-device-file": Control(
        conf(), gres(ALL_EIGHT), always("can't stat gres.conf file /dev/nvidia7"), machine(7), parser=True
    ),
    "fewer-devices-than-configured": Control(
        conf(), gres("Type=h100 File=/dev/nvidia[0-6]"), always(r"count reported lower than configured \(7 < 8\)")
    ),
    "typed-and-untyped": Control(
        conf(), gres("Type=h100 File=/dev/nvidia[0-3]", "File=/dev/nvidia[4-7]"),
        always("fatal: gres.conf for gpu, some records have \"Type=\" specification while others do not"), parser=True,
    ),
    "type-that-slurm-conf-has-not": Control(
        conf(), gres("Type=a100 File=/dev/nvidia[0-7]"), always(r"count reported lower than configured \(0 < 8\)")
    ),
    "links-too-many": Control(
        conf("gpu:h100:2"),
        gres("Type=h100 File=/dev/nvidia0 Links=-1,4,0", "Type=h100 File=/dev/nvidia1 Links=4,-1,0"),
        always("Invalid GRES Links value"),
    ),
    # Nobody says a word: the derivation has to see to it that the numbers are as many as the GPUs.
    "links-too-few": Control(
        conf("gpu:h100:2"), gres("Type=h100 File=/dev/nvidia0 Links=-1", "Type=h100 File=/dev/nvidia1 Links=-1"),
        always(""),
    ),
    "more-memory-than-there-is": Control(
        conf(extra="RealMemory=1000000000"), gres(ALL_EIGHT), always("Low RealMemory")
    ),
    "more-cores-than-there-are": Control(
        conf(layout=(2, 64, 2)), gres(ALL_EIGHT), always("Low socket\\*core\\*thread count|Low CPUs")
    ),
    "other-sockets": Control(conf(layout=(4, 28, 2)), gres(ALL_EIGHT), always(r"SocketsPerBoard=4:2\(hw\)")),
    "unknown-parameter": Control(
        conf(extra="RealMemory=1000 Sokets=2"), gres(ALL_EIGHT), always("(fatal|error).*[Pp]ars(e|ing)")
    ),
    "count-forgotten": Control(conf("gpu:1g.10gb"), gres(ALL_EIGHT), always("Bad GRES configuration")),
    "flags-that-differ": Control(
        conf(), gres(ALL_EIGHT).replace("[0-7]", "[0-3]") + f"NodeName={NODE} Name=gpu Type=h100 File=/dev/nvidia[4-7] "
        "Flags=amd_gpu_env\n", always("fatal"), parser=True,
    ),
}  # fmt: skip

if CAPTURES.is_dir():
    CONTROLS |= {
        # NVIDIA/deepops#1195: thread ids in the place of core ids, on the machine with 2 x 64 cores.
        "capture-deepops-thread-ids": Control(
            conf("gpu:8", (2, 64, 2)),
            (CAPTURES / "deepops-thread-ids.gres.conf").read_text(),
            always("[Ii]nvalid GRES core specification"),
            machine(layout=(2, 64, 2)),
        ),
        "capture-8gpu-10core-slices": Control(
            conf("gpu:8", (2, 20, 1)),
            (CAPTURES / "8gpu-10core-slices.gres.conf").read_text(),
            {"22.05": "", "24.11": BOUNDARY, "26.05": BOUNDARY},
            machine(layout=(2, 20, 1)),
        ),
    }
