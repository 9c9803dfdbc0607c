#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the hardware of the node and hands what it read to the action plugin of the same name, which writes it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hardware_capture
short_description: Make a bundle of a node's hardware
version_added: 0.1.0
description:
  - Takes the record of the node as M(steelrack.gpu_cluster.node_hardware_info) does, and writes exactly what was read
    for it into a folder on the control node, a bundle. The bundle can stand for the machine in tests and bug reports.
  - Serial numbers, UUIDs, GUIDs and host names are replaced, lists of processes are emptied. Of the kernel log only the
    lines of NVIDIA's modules are taken.
author:
  - steelrack contributors (@steelrack)
options:
  dest:
    description: Folder of the bundle on the control node. Its subfolders C(sys), C(proc), C(commands) and C(usr) are
      replaced.
    type: path
    required: true
  host:
    description: Inventory name of the node, replaced in the bundle as the node's own host names are.
    type: str
    required: true
  salt:
    description: Secret from which the made-up ids are made. With the same salt the same id gets the same replacement on
      every node.
    type: str
    required: true
  roots:
    description: Where the evidence is looked up, see O(steelrack.gpu_cluster.node_hardware_info#module:roots).
    type: list
    elements: str
    default: [/]
  timeout:
    description: Seconds after which a command that does not answer is stopped.
    type: int
    default: 60
attributes:
  check_mode:
    description: Reads the node and writes nothing.
    support: full
  diff_mode:
    description: Does not show the contents of the files.
    support: none
  platform:
    description: Operating systems of the node.
    support: full
    platforms: linux
"""

EXAMPLES = r"""
- name: Make a bundle of the node
  steelrack.gpu_cluster.hardware_capture:
    dest: ".captures/{{ inventory_hostname }}"
    host: "{{ inventory_hostname }}"
    salt: "{{ lookup('ansible.builtin.password', '.credentials/capture_salt', length=32) }}"
  become: true
"""

RETURN = r"""
dest:
  description: Folder of the bundle on the control node.
  returned: success
  type: str
  sample: .captures/gpu001
count:
  description: Number of files in the bundle.
  returned: success
  type: int
  sample: 187
"""

import base64
import socket

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.bundle import anonymous
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence, EvidenceError
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.health import examine
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "dest": {"type": "path", "required": True},
            "host": {"type": "str", "required": True},
            "salt": {"type": "str", "required": True, "no_log": True},
            "roots": {"type": "list", "elements": "str", "default": ["/"]},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    host = module.params["host"]
    try:
        evidence = Evidence(module.params["roots"], module.params["timeout"])
        take(evidence, host, "")
        examine(evidence, host)
    except EvidenceError as error:
        module.fail_json(msg=f"No bundle of {host}: {error}; correct the option roots.")
    full_name = socket.gethostname()
    files = anonymous(evidence.taken, module.params["salt"], [full_name, full_name.partition(".")[0], host])
    module.exit_json(
        changed=False,
        files={path: base64.b64encode(content).decode("ascii") for path, content in sorted(files.items())},
    )


if __name__ == "__main__":
    main()
