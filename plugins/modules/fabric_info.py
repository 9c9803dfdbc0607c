#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thin adapter: what a node sees of the network."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_info
short_description: Read what a node sees of the network
version_added: 0.1.0
description:
  - Asks lldpd, where it runs, for the switches at the node's Ethernet ports, and on demand C(ibnetdiscover) for the
    whole InfiniBand fabric.
  - Only reads. Installs nothing; a node without these programs has nothing to tell.
  - Run it as root.
author:
  - steelrack contributors (@steelrack)
options:
  infiniband:
    description:
      - Whether to read the InfiniBand fabric. One node that does so is enough, for all see the same.
      - Fails where that is not possible.
    type: bool
    default: false
  roots:
    description: Folders in which the evidence is looked up, as in M(steelrack.gpu_cluster.node_hardware_info).
    type: list
    elements: str
    default: [/]
  timeout:
    description: Seconds after which a command that does not answer is stopped.
    type: int
    default: 120
attributes:
  check_mode:
    description: Never changes anything, so it does the same in check mode.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
  platform:
    description: Operating systems it works on.
    support: full
    platforms: linux
seealso:
  - module: steelrack.gpu_cluster.fabric_record
"""

EXAMPLES = r"""
- name: See the neighbours of the node
  steelrack.gpu_cluster.fabric_info:
  become: true
  register: neighbours
"""

RETURN = r"""
lldp:
  description: What C(lldpctl -f keyvalue) printed; V(null) where lldpd does not answer.
  returned: success
  type: str
default_interfaces:
  description: Interfaces by which the default route leaves, those below a bond, bridge or VLAN included.
  returned: success
  type: list
  elements: str
infiniband:
  description: Whether the fabric can be read from here (an active port, and C(ibnetdiscover) is installed).
  returned: success
  type: bool
ibnetdiscover:
  description: What C(ibnetdiscover) printed.
  returned: when O(infiniband=true)
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.fabric import (
    FabricReadError,
    neighbours,
    read_fabric,
)
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence, EvidenceError


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "infiniband": {"type": "bool", "default": False},
            "roots": {"type": "list", "elements": "str", "default": ["/"]},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    try:
        evidence = Evidence(module.params["roots"], module.params["timeout"])
        result = neighbours(evidence)
        if module.params["infiniband"]:
            result["ibnetdiscover"] = read_fabric(evidence)
    except EvidenceError as error:
        module.fail_json(msg=f"Nothing can be read: {error}; correct the option roots.")
    except FabricReadError as error:
        module.fail_json(msg=f"The InfiniBand fabric cannot be read from this host: {error}; choose another host.")
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
