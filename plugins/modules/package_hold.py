#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold Debian packages at their version."""

from __future__ import annotations

DOCUMENTATION = r"""
module: package_hold
short_description: Hold Debian packages at their version
version_added: "0.1.0"
description:
  - Marks installed packages as held, so that no upgrade touches them, or takes the mark away.
  - All packages are handled with two calls of dpkg, whatever their number.
author:
  - steelrack contributors (@steelrack)
attributes:
  check_mode:
    support: full
    description: >-
      Nothing is marked. A package that is not installed yet counts as one that would be marked instead of failing,
      because in check mode nothing was installed before.
  diff_mode:
    support: full
    description: Shows the marks of the packages that change.
  platform:
    support: full
    platforms: debian
    description: Debian and its relatives.
options:
  names:
    description: Names of the packages; all of them must be installed.
    type: list
    elements: str
    required: true
  state:
    description: Whether the packages are to be held.
    type: str
    choices: [held, unheld]
    default: held
"""

EXAMPLES = r"""
- name: Keep the Slurm packages at their version
  steelrack.gpu_cluster.package_hold:
    names:
      - slurmd
      - slurm-client
"""

RETURN = r"""
packages:
  description: Packages whose mark changed, in the form that dpkg uses (with the architecture where needed).
  type: list
  elements: str
  returned: success
  sample: [slurm-client, slurmd]
"""

from typing import Iterable, NamedTuple

from ansible.module_utils.basic import AnsibleModule

_FORMAT = r"${Package}\t${binary:Package}\t${db:Status-Want}\t${db:Status-Status}\n"
_SELECTION = {"held": "hold", "unheld": "install"}


class Package(NamedTuple):
    """One installed package: ``name`` as given, ``selection`` is dpkg's mark (install, hold, ...)."""

    name: str
    qualified: str
    selection: str


def parse(text: str) -> list[Package]:
    """Return the installed packages of a ``dpkg-query --show`` output in the format that this module asks for."""
    packages = []
    for line in text.splitlines():
        name, qualified, selection, status = line.split("\t")
        if status not in ("not-installed", "config-files"):
            packages.append(Package(name, qualified, selection))
    return packages


def missing(names: Iterable[str], packages: Iterable[Package]) -> list[str]:
    """Return those of ``names`` (``package`` or ``package:architecture``) that are not installed, sorted."""
    known = {package.name for package in packages} | {package.qualified for package in packages}
    return sorted(name for name in set(names) if name not in known and name.split(":")[0] not in known)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["held", "unheld"], "default": "held"},
        },
        supports_check_mode=True,
    )
    module.run_command_environ_update = {"LC_ALL": "C"}
    names = sorted(set(module.params["names"]))
    wanted = _SELECTION[module.params["state"]]
    if not names:
        module.exit_json(changed=False, packages=[])
    # The exit status is 1 as soon as one name is unknown; what it knows is printed all the same.
    status, out, err = module.run_command(["dpkg-query", "--show", f"--showformat={_FORMAT}", "--", *names])
    if status not in (0, 1):
        module.fail_json(msg=f"dpkg-query failed with exit status {status}: {err.strip()}")
    installed = parse(out)
    absent = missing(names, installed)
    if absent and not module.check_mode:
        module.fail_json(
            msg=f"These packages are to be {module.params['state']} but are not installed: {', '.join(absent)}. "
            "Install them first or take them off the list."
        )
    before = {package.qualified: package.selection for package in installed if package.selection != wanted}
    before.update(dict.fromkeys(absent, "not installed"))
    changes = sorted(before)
    if changes and not module.check_mode:
        selections = "".join(f"{name}\t{wanted}\n" for name in changes)
        status, out, err = module.run_command(["dpkg", "--set-selections"], data=selections, binary_data=True)
        if status != 0:
            module.fail_json(msg=f"dpkg --set-selections failed with exit status {status}: {err.strip()}")
    module.exit_json(
        changed=bool(changes),
        packages=changes,
        diff={
            "before": "".join(f"{name} {before[name]}\n" for name in changes),
            "after": "".join(f"{name} {wanted}\n" for name in changes),
        },
    )


if __name__ == "__main__":
    main()
