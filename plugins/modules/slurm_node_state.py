#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drain and resume Slurm nodes without stepping on what people decided."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_node_state
short_description: Drain Slurm nodes and resume those that were drained by this collection
version_added: "0.1.0"
description:
  - Drains nodes with a reason that starts with C(steelrack:), so that it can be told later who did it.
  - Resumes only nodes whose reason starts like that. A node that a person, a health check or Slurm itself drained is
    left alone in both directions and named in RV(left_alone).
  - A node that is down when it is resumed stays down until its slurmd answers; one that has not registered since the
    start of slurmctld cannot be resumed yet and is named in RV(left_alone) too.
  - Must run where C(scontrol) reaches the controller, as root or SlurmUser.
author:
  - steelrack contributors (@steelrack)
attributes:
  check_mode:
    support: full
    description: Nothing is changed; the result tells what would be.
  diff_mode:
    support: full
    description: Shows state and reason of the nodes that change.
  platform:
    support: full
    platforms: posix
    description: Slurm 21.08 and later.
options:
  nodes:
    description: Names of the nodes as Slurm knows them.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(drain) takes no new jobs; running jobs end as they would.
      - V(resume) returns nodes to service that were drained by this module.
    type: str
    choices: [drain, resume]
    required: true
  reason:
    description:
      - Why the nodes are drained; one line.
      - Required for O(state=drain). The prefix C(steelrack:) is put in front of it if it is not there.
    type: str
  reason_match:
    description:
      - Regular expression (Python's) for the reasons that count as given by this task. A node that this collection
        drained for a reason that does not match is left alone too, so that one playbook does not lift or rename what
        another did.
      - Without it every reason with the prefix counts.
    type: str
"""

EXAMPLES = r"""
- name: Take a node with a lost GPU out of service
  steelrack.gpu_cluster.slurm_node_state:
    nodes: [gpu007]
    state: drain
    reason: "GPU003 GPU 00000000:1b:00.0 is lost"

- name: Return it when it is healthy again
  steelrack.gpu_cluster.slurm_node_state:
    nodes: [gpu007]
    state: resume
"""

RETURN = r"""
drained:
  description: Nodes that were drained, or whose reason was brought up to date.
  type: list
  elements: str
  returned: success
  sample: [gpu007]
resumed:
  description: Nodes that were returned to service.
  type: list
  elements: str
  returned: success
  sample: []
left_alone:
  description: Nodes that are left as they are, because somebody else drained them, with the reason that Slurm shows.
  type: dict
  returned: success
  sample: {gpu009: "RMA 123 [root@2026-11-30T19:31:44]"}
"""

import re
from typing import Iterable, NamedTuple

from ansible.module_utils.basic import AnsibleModule

_PREFIX = "steelrack: "
_CHUNK = 500  # nodes in one scontrol call, far below the limit of a command line
# In --oneliner output every field starts with a blank and a capitalised word and "=", also where values hold blanks.
_NEXT_FIELD = r"(?= [A-Z][A-Za-z]*=|\s*$)"
_NAME = re.compile(r"^NodeName=(\S+)")
_STATE = re.compile(r" State=(\S+)")
# User and time end a reason, which may itself hold something like a field.
_REASON = re.compile(r" Reason=(.*? \[[^\[\]\s]+@[^\[\]\s]+\]|.*?)" + _NEXT_FIELD)
_BY = re.compile(r" \[[^\[\]\s]+@[^\[\]\s]+\]$")


class Node(NamedTuple):
    """State of one node: ``state`` as Slurm prints it (``IDLE+DRAIN``), ``reason`` with user and time, or empty."""

    name: str
    state: str
    reason: str

    @property
    def drained(self) -> bool:
        """Whether the node takes no new jobs because it is drained or draining."""
        return any(part.rstrip("*~#!%$@^-").startswith("DRAIN") for part in self.state.split("+"))

    @property
    def base(self) -> str:
        """The state without flags and marks, such as IDLE, MIXED or DOWN."""
        return self.state.split("+")[0].rstrip("*~#!%$@^-")

    @property
    def text(self) -> str:
        """The reason without user and time."""
        return _BY.sub("", self.reason)

    @property
    def ours(self) -> bool:
        """Whether the reason was set by this collection."""
        return self.reason.startswith(_PREFIX)


def parse(output: str) -> dict[str, Node]:
    """Return the nodes of a ``scontrol show node --oneliner`` output by name; other lines are passed over."""
    nodes = {}
    for line in output.splitlines():
        name, state, reason = _NAME.search(line), _STATE.search(line), _REASON.search(line)
        if name and state:
            nodes[name.group(1)] = Node(name.group(1), state.group(1), reason.group(1).strip() if reason else "")
    return nodes


def full_reason(reason: str) -> str:
    """Return ``reason`` as one line with the prefix of this collection."""
    line = " ".join(reason.split())
    return line if line.startswith(_PREFIX) else _PREFIX + line


def plan(
    nodes: Iterable[Node], state: str, reason: str, reason_match: str | None = None
) -> tuple[list[str], dict[str, str]]:
    """Return (names of the nodes to change, reasons of the nodes to leave alone) for the wanted ``state``.

    ``reason_match``: of the reasons with our prefix only those that it matches are this task's.
    """
    change: list[str] = []
    left_alone: dict[str, str] = {}
    for node in nodes:
        matches = reason_match is None or re.search(reason_match, node.text) is not None
        if node.drained and not (node.ours and matches):
            left_alone[node.name] = node.reason or "drained without a reason"
        elif state == "resume" and node.drained and node.base == "UNKNOWN":
            # slurmctld refuses any new state before slurmd has registered.
            left_alone[node.name] = f"{node.reason} (slurmd has not registered yet)"
        elif node.drained if state == "resume" else not node.drained or node.text != reason:
            change.append(node.name)
    return change, left_alone


def show(module: AnsibleModule) -> dict[str, Node]:
    """Return all nodes that the controller knows, by name."""
    status, out, err = module.run_command(["scontrol", "show", "node", "--all", "--oneliner"])
    if status != 0:
        module.fail_json(
            msg=f"scontrol cannot list the nodes: {(err or out).strip()}. "
            "Check that slurmctld runs and that this task runs on a host that reaches it."
        )
    return parse(out)


def update(module: AnsibleModule, names: list[str], settings: list[str]) -> None:
    """Apply ``settings`` (``Key=value``) to the nodes ``names``; fails with the answer of scontrol."""
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]
        status, out, err = module.run_command(["scontrol", "update", f"NodeName={','.join(chunk)}", *settings])
        if status != 0:
            module.fail_json(
                msg=f"scontrol refused {' '.join(settings)} for {', '.join(chunk)}: {(err or out).strip()}. "
                "The task must run as root or SlurmUser."
            )


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["drain", "resume"], "required": True},
            "reason": {"type": "str"},
            "reason_match": {"type": "str"},
        },
        required_if=[("state", "drain", ("reason",))],
        supports_check_mode=True,
    )
    module.run_command_environ_update = {"LC_ALL": "C"}
    names = list(dict.fromkeys(module.params["nodes"]))
    state = module.params["state"]
    if not names:
        module.exit_json(changed=False, drained=[], resumed=[], left_alone={})
    known = show(module)
    unknown = [name for name in names if name not in known]
    if unknown:
        module.fail_json(
            msg=f"Slurm does not know these nodes: {', '.join(unknown)}. "
            "Check the spelling (names are case-sensitive) and that the running slurmctld has the newest slurm.conf."
        )
    reason = full_reason(module.params["reason"] or "")
    try:
        change, left_alone = plan([known[name] for name in names], state, reason, module.params["reason_match"])
    except re.error as error:
        module.fail_json(msg=f"reason_match is no regular expression: {error}. Correct it.")
    if not module.check_mode:
        if state == "drain":
            update(module, change, ["State=DRAIN", f"Reason={reason}"])
        else:
            # RESUME would also bring a node back that is down for a reason of its own.
            update(module, [name for name in change if known[name].base != "DOWN"], ["State=RESUME"])
            update(module, [name for name in change if known[name].base == "DOWN"], ["State=UNDRAIN"])
    after = f"drained, reason: {reason}" if state == "drain" else "in service"
    module.exit_json(
        changed=bool(change),
        drained=change if state == "drain" else [],
        resumed=change if state == "resume" else [],
        left_alone=left_alone,
        diff={
            "before": "".join(f"{name}: {known[name].state} {known[name].reason}".rstrip() + "\n" for name in change),
            "after": "".join(f"{name}: {after}\n" for name in change),
        },
    )


if __name__ == "__main__":
    main()
