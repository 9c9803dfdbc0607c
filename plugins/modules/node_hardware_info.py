#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thin adapter: module arguments in, record of the node's hardware out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_hardware_info
short_description: Take the record of a node's hardware
version_added: 0.1.0
description:
  - Reads CPU layout, memory, NVIDIA GPUs with their MIG instances, NVLinks, the driver, and InfiniBand and RoCE
    adapters from sysfs, procfs and C(nvidia-smi), and returns them as one record.
  - Tells beside the record what is wrong with the health of the GPUs at this moment. Sources are C(nvidia-smi) and the
    kernel log since the last boot.
  - Needs no NVML binding, no C(lspci) and no compiled part. Works outside of any job; inside one, the job's cgroup
    hides devices.
  - Run it as root. Without C(become) the driver hides MIG instances.
author:
  - steelrack contributors (@steelrack)
options:
  host:
    description: Inventory name of the node; it becomes RV(node_hardware.host) and the host of each problem.
    type: str
    required: true
  roots:
    description:
      - Folders on the node in which the evidence is looked up; the first one that has a file, folder or command
        output wins.
      - The root V(/) is the machine itself. Any other root is a bundle, a folder with C(sys/), C(proc/) and
        C(commands/) such as the playbook C(steelrack.gpu_cluster.capture) makes. In a bundle,
        C(commands/nvidia-smi_-q_-x) holds the output of that command line and C(commands/nvidia-smi_-q_-x.rc)
        its exit status when that is not 0.
    type: list
    elements: str
    default: [/]
  timeout:
    description: Seconds after which a command that does not answer is stopped and becomes a problem.
    type: int
    default: 60
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
"""

EXAMPLES = r"""
- name: Take the record of the node
  steelrack.gpu_cluster.node_hardware_info:
    host: "{{ inventory_hostname }}"
  become: true
  register: hardware

- name: Take the record of a machine somebody sent a bundle of
  steelrack.gpu_cluster.node_hardware_info:
    host: reported-node
    roots: [/tmp/reported-node]
  register: hardware
"""

RETURN = r"""
node_hardware:
  description:
    - The record, schema 1. All keys are always there; what is unknown is V(null), never a guess.
    - Lists of CPUs and cores are text. C(0-3,8) is a set. In RV(node_hardware.cpu.core_map) order counts and runs may
      have a stride, so that C(0-6:2,1-7:2) is 0, 2, 4, 6, 1, 3, 5, 7.
    - An abstract core id is the position of a core in the order in which Slurm counts them, from 0 on over all sockets.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of the form of the record.
      type: int
      sample: 1
    host:
      description: Inventory name of the node.
      type: str
      sample: gpu001
    taken_at:
      description: When the evidence was taken, UTC. In a stored record it moves only when something else does.
      type: str
      sample: "2026-11-30T19:31:44Z"
    cpu:
      description: Processors.
      type: dict
      contains:
        architecture:
          description: Machine architecture as C(uname -m) has it, or V(null).
          type: str
          sample: x86_64
        model:
          description: Name of the processor, or V(null) (Arm kernels do not show one).
          type: str
          sample: INTEL(R) XEON(R) PLATINUM 8480C
        sockets:
          description: Number of packages that have CPUs. V(null) when Slurm cannot describe the layout; then
            RV(node_hardware.problems) says why.
          type: int
          sample: 2
        cores_per_socket:
          description: Cores in each package, or V(null).
          type: int
          sample: 56
        threads_per_core:
          description: Online CPUs of each core, or V(null).
          type: int
          sample: 2
        cpus:
          description: Number of CPUs that are online, or V(null).
          type: int
          sample: 224
        core_map:
          description: One ordered list for each thread of a core. The position in a list is the abstract core id, the
            value the number of the CPU in the operating system. Empty when the layout is unusable.
          type: list
          elements: str
          sample: ["0-111", "112-223"]
        numa_nodes:
          description: NUMA nodes that have CPUs, by number.
          type: list
          elements: dict
          contains:
            id:
              description: Number of the NUMA node.
              type: int
            cpus:
              description: Its online CPUs.
              type: str
              sample: 0-55,112-167
            cores:
              description: Abstract ids of its cores, or V(null).
              type: str
              sample: 0-55
            memory_mib:
              description: Its memory in MiB, rounded down, or V(null).
              type: int
              sample: 1031000
        offline:
          description: CPUs that are present but offline, V("") for none, or V(null).
          type: str
    memory_mib:
      description: Memory in MiB that is near to CPUs, rounded down, or V(null). GPU memory that appears as a NUMA node
        without CPUs does not count.
      type: int
      sample: 2063878
    gpus:
      description: Every physical NVIDIA GPU in PCI order, also one that is lost.
      type: list
      elements: dict
      contains:
        pci:
          description: PCI address as 8+2+2.1 lower-case hex digits.
          type: str
          sample: "00000000:1b:00.0"
        device_id:
          description: PCI device id as four hex digits, or V(null).
          type: str
          sample: "2330"
        minor:
          description: Minor number, the N of C(/dev/nvidiaN), or V(null). It need not follow the PCI order.
          type: int
          sample: 0
        uuid:
          description: UUID of the GPU, or V(null).
          type: str
          sample: GPU-5f1d2c3b-0001-4a6e-9d10-3c8e00000001
        product:
          description: Product name in the driver's words, or V(null).
          type: str
          sample: NVIDIA H100 80GB HBM3
        type:
          description: The type that Slurm makes of the product name, or V(null).
          type: str
          sample: nvidia_h100_80gb_hbm3
        memory_mib:
          description: Memory in MiB, or V(null).
          type: int
          sample: 81559
        numa:
          description: Number of the NUMA node (one with CPUs) that the GPU is connected to, or V(null).
          type: int
          sample: 0
        cores:
          description: Abstract ids of the cores near to the GPU, or V(null). Can be all cores of the node.
          type: str
          sample: 0-55
        mig:
          description: Partitioning of the GPU.
          type: dict
          contains:
            mode:
              description: V(enabled), V(disabled), or V(null) when the GPU cannot do it or it is unknown.
              type: str
              sample: disabled
            instances:
              description: MIG devices in the order of the MIG index.
              type: list
              elements: dict
              contains:
                profile:
                  description: Name of the profile, such as V(1g.10gb), V(1c.3g.40gb) or V(1g.10gb+me), or V(null).
                  type: str
                  sample: 1g.10gb
                gi:
                  description: Id of the GPU instance.
                  type: int
                  sample: 7
                ci:
                  description: Id of the compute instance inside the GPU instance.
                  type: int
                  sample: 0
                uuid:
                  description: UUID of the MIG device, or V(null).
                  type: str
                  sample: MIG-5f1d2c3b-0001-4a6e-9d10-3c8e00000101
                memory_mib:
                  description: Memory of the GPU instance in MiB, or V(null).
                  type: int
                  sample: 9856
                files:
                  description: Device files that open it, being those of the GPU, of the GPU instance and of the compute
                    instance. Empty when unknown.
                  type: list
                  elements: str
                  sample: [/dev/nvidia4, /dev/nvidia-caps/nvidia-cap606, /dev/nvidia-caps/nvidia-cap607]
        fabric:
          description: The GPU's place in an NVLink fabric. All V(null) for a GPU without one.
          type: dict
          contains:
            cluster_uuid:
              description: UUID of the fabric. All zeros mean a fabric inside this node only.
              type: str
              sample: 00000000-0000-0000-0000-000000000000
            clique:
              description: Number of the partition of the fabric.
              type: int
              sample: 0
            state:
              description: State of the registration, V(Completed) when the GPU can be used.
              type: str
              sample: Completed
            status:
              description: Result of the registration.
              type: str
              sample: Success
        problem:
          description: Id of the worst problem that concerns this GPU, or V(null).
          type: str
          sample: GPU003
    nvlinks:
      description: NVLinks that join two GPUs of the node directly, not through an NVSwitch.
      type: list
      elements: dict
      contains:
        a:
          description: Position of one GPU in RV(node_hardware.gpus).
          type: int
          sample: 0
        b:
          description: Position of the other GPU, higher than RV(node_hardware.nvlinks[].a).
          type: int
          sample: 1
        links:
          description: Number of links between the two.
          type: int
          sample: 4
    nvidia:
      description: The NVIDIA driver.
      type: dict
      contains:
        driver:
          description: Version of the loaded driver, or V(null).
          type: str
          sample: 580.126.20
        flavour:
          description: V(open) or V(closed) kernel module, or V(null).
          type: str
          sample: open
        nvswitch:
          description: Whether NVSwitches are on the node's own PCI bus, so that it needs a fabric manager; V(null) when
            the bus cannot be read.
          type: bool
          sample: true
    fabric:
      description: The network for computing.
      type: dict
      contains:
        hcas:
          description: InfiniBand and RoCE adapters, by name.
          type: list
          elements: dict
          contains:
            name:
              description: Name of the device.
              type: str
              sample: mlx5_0
            guid:
              description: Node GUID, or V(null).
              type: str
              sample: "0xa088c20300831594"
            ports:
              description: Ports, by number.
              type: list
              elements: dict
              contains:
                port:
                  description: Number of the port.
                  type: int
                  sample: 1
                guid:
                  description: Port GUID, or V(null). Only on InfiniBand.
                  type: str
                  sample: "0xa088c20300831594"
                state:
                  description: State of the port in lower case, V(active) when it carries traffic, or V(null).
                  type: str
                  sample: active
                link_layer:
                  description: V(InfiniBand) or V(Ethernet), or V(null).
                  type: str
                  sample: InfiniBand
                rate_gbps:
                  description: Rate in Gb/s, or V(null).
                  type: float
                  sample: 400
                leaf:
                  description: Name of the leaf switch, or V(null). The node itself does not know it.
                  type: str
    problems:
      description: What is wrong with the node; empty means healthy.
      type: list
      elements: dict
      contains:
        id:
          description: Stable id of the kind of problem.
          type: str
          sample: GPU003
        severity:
          description: V(error) keeps the node out of service, V(warning) is only shown.
          type: str
          sample: error
        host:
          description: Inventory name of the node.
          type: str
          sample: gpu001
        message:
          description: What is wrong, in one sentence.
          type: str
        remedy:
          description: What to do about it.
          type: str
health:
  description:
    - What is wrong with the health of the GPUs, in the form of RV(node_hardware.problems). Empty means healthy.
    - It passes with a reset, a reboot or a repair, and is therefore no part of the record.
  returned: success
  type: list
  elements: dict
  sample: []
"""

import datetime

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence, EvidenceError
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.health import examine
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "roots": {"type": "list", "elements": "str", "default": ["/"]},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        evidence = Evidence(module.params["roots"], module.params["timeout"])
        record = take(evidence, module.params["host"], now)
        health = [problem.as_dict() for problem in examine(evidence, module.params["host"])]
    except EvidenceError as error:
        module.fail_json(
            msg=f"No hardware record of {module.params['host']}: {error}; correct roots (hardware_evidence_roots)."
        )
    module.exit_json(changed=False, node_hardware=record, health=health)


if __name__ == "__main__":
    main()
