#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the slurmd of a node can detect GPUs by itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_autodetect_info
short_description: Check that slurmd can detect GPUs by itself
version_added: 0.1.0
description:
  - Looks for what C(AutoDetect) in C(gres.conf) needs on a node, being the plugin of slurmd and, for V(nvml), the
    library of the NVIDIA driver. Without them slurmd does not start or reports no GPU.
  - Packages differ in what they bring. Those of Debian and Ubuntu have the plugin for V(nvml) in a package of its own,
    others were built without it.
author:
  - steelrack contributors (@steelrack)
options:
  host:
    description: Inventory name of the node, the host of each problem.
    type: str
    required: true
  mode:
    description: The value of C(AutoDetect).
    type: str
    choices: ["off", nvidia, nvml]
    required: true
  plugin_dirs:
    description: Folders in which the plugins of slurmd may be, the first one that exists counts.
    type: list
    elements: path
    default:
      - /usr/lib/x86_64-linux-gnu/slurm-wlm
      - /usr/lib/aarch64-linux-gnu/slurm-wlm
      - /usr/lib64/slurm
      - /usr/lib/x86_64-linux-gnu/slurm
      - /usr/lib/aarch64-linux-gnu/slurm
      - /usr/lib/slurm
      - /usr/local/lib/slurm
      - /opt/slurm/lib/slurm
  library_dirs:
    description: Folders in which the driver's library may be.
    type: list
    elements: path
    default:
      - /usr/lib/x86_64-linux-gnu
      - /usr/lib/aarch64-linux-gnu
      - /usr/lib/x86_64-linux-gnu/nvidia/current
      - /usr/lib/aarch64-linux-gnu/nvidia/current
      - /usr/lib64
      - /usr/lib
      - /usr/local/lib
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
- name: Look for the plugin and the library of AutoDetect
  steelrack.gpu_cluster.slurm_autodetect_info:
    host: "{{ inventory_hostname }}"
    mode: nvml
  register: autodetect

- name: Stop where slurmd cannot detect GPUs
  steelrack.gpu_cluster.problem_report:
    problems: "{{ autodetect.problems }}"
"""

RETURN = r"""
version:
  description: Version that C(slurmd -V) tells; empty where slurmd is not installed, and then nothing is checked.
  returned: success
  type: str
  sample: "24.11.5"
problems:
  description: What is missing.
  returned: success
  type: list
  elements: dict
"""

import os
import re

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import Problem, make

_LIBRARY = "libnvidia-ml.so.1"
_BARE_LIBRARY = "libnvidia-ml.so"
_REMEDIES = {
    "nvml": "Install the plugin on {host} (package slurm-wlm-nvml-plugin on Debian and Ubuntu, section contrib; other "
    "packages have to be built with NVML), or use nvidia in the place of nvml from Slurm 24.11 on",
    "nvidia": "Install Slurm 24.11 or newer on {host} with all of its plugins",
}
# Older ones open the library by the name that only development packages link (Slurm's src/interfaces/gpu.c; the string
# is in 22.05.8 alone, in 24.11.5 together with the versioned one).
_BOTH_NAMES_SINCE = (24, 11)


def parse_version(text: str) -> str:
    """Return the version in the output of ``slurmd -V``; ``""`` where there is none."""
    match = re.search(r"\b(\d+\.\d+(?:\.\d+)?)", text)
    return match[1] if match else ""


def find(folders: list[str], name: str) -> str | None:
    """Return the path of the file ``name`` in the first folder that has it; a dangling link does not count."""
    paths = (os.path.join(folder, name) for folder in folders)
    return next((path for path in paths if os.path.exists(path)), None)


def missing(host: str, mode: str, version: str, plugin_dirs: list[str], library_dirs: list[str]) -> list[Problem]:
    """Return what AutoDetect=``mode`` lacks on a node whose slurmd has that version."""
    folders = [folder for folder in plugin_dirs if os.path.isdir(folder)][:1]
    problems = []
    plugin = f"gpu_{mode}.so"
    if find(folders, plugin) is None:
        looked = ", ".join(folders) or "none of the usual folders is there"
        remedy = _REMEDIES[mode].format(host=host)
        problems.append(make("SLM044", host, mode=mode, plugin=plugin, folders=looked, remedy=remedy))
    if mode == "nvml":
        old = tuple(int(part) for part in version.split(".")[:2]) < _BOTH_NAMES_SINCE
        if find(library_dirs, _BARE_LIBRARY) is None and (old or find(library_dirs, _LIBRARY) is None):
            present = find(library_dirs, _LIBRARY)
            detail = (
                f", which Slurm {version} opens by that name alone (there is {present}; link it)" if present else ""
            )
            name = _BARE_LIBRARY if present else _LIBRARY
            problems.append(make("SLM045", host, library=name, detail=detail))
    return problems


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "mode": {"type": "str", "choices": ["off", "nvidia", "nvml"], "required": True},
            "plugin_dirs": {
                "type": "list",
                "elements": "path",
                "default": [
                    "/usr/lib/x86_64-linux-gnu/slurm-wlm",
                    "/usr/lib/aarch64-linux-gnu/slurm-wlm",
                    "/usr/lib64/slurm",
                    "/usr/lib/x86_64-linux-gnu/slurm",
                    "/usr/lib/aarch64-linux-gnu/slurm",
                    "/usr/lib/slurm",
                    "/usr/local/lib/slurm",
                    "/opt/slurm/lib/slurm",
                ],
            },
            "library_dirs": {
                "type": "list",
                "elements": "path",
                "default": [
                    "/usr/lib/x86_64-linux-gnu",
                    "/usr/lib/aarch64-linux-gnu",
                    "/usr/lib/x86_64-linux-gnu/nvidia/current",
                    "/usr/lib/aarch64-linux-gnu/nvidia/current",
                    "/usr/lib64",
                    "/usr/lib",
                    "/usr/local/lib",
                ],
            },
        },
        supports_check_mode=True,
    )
    host, mode = module.params["host"], module.params["mode"]
    slurmd = module.get_bin_path("slurmd")
    version = parse_version(module.run_command([slurmd, "-V"])[1]) if slurmd else ""
    problems = []
    if version and mode != "off":
        problems = missing(host, mode, version, module.params["plugin_dirs"], module.params["library_dirs"])
    module.exit_json(changed=False, version=version, problems=[problem.as_dict() for problem in problems])


if __name__ == "__main__":
    main()
