#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put new Slurm configuration files in place, and say what has to be done for them to count."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_config
short_description: Change control of the Slurm configuration files
version_added: "0.1.0"
description:
  - Runs on the host of slurmctld and manages the files beside C(slurm.conf) as one set.
  - Says what a change takes (nothing, C(scontrol reconfigure), restarts) by the version of Slurm, but never does it;
    that is the work of handlers.
  - Starts slurmctld on trial with the new files before they replace the old ones, in a network namespace of its own
    in which it can reach nothing. If it refuses them, the module fails and nothing is replaced.
  - Keeps the files before each change, so that O(state=rolled_back) can put them back.
  - Remembers a change until O(state=applied) tells that its step was carried out. A run that was interrupted in between
    is made good by the next one, which reports the same step again although the files are in place.
author:
  - steelrack contributors (@steelrack)
attributes:
  check_mode:
    support: full
    description: >-
      Compares, says what the change takes, and tries the files if slurmctld is installed; writes nothing but a
      temporary folder.
  diff_mode:
    support: full
    description: Shows each file that changes.
  platform:
    support: full
    platforms: posix
    description: Slurm 22.05 and later.
options:
  conf_dir:
    description: Folder of C(slurm.conf).
    type: path
    default: /etc/slurm
  state:
    description:
      - V(present) puts O(files) in place.
      - V(applied) tells that the step of the last change was carried out.
      - V(rolled_back) puts the files before the last change back, as long as it is not V(applied). slurmctld must be
        restarted afterwards.
    type: str
    choices: [present, applied, rolled_back]
    default: present
  files:
    description:
      - Names of the files in O(conf_dir) and their text.
      - A file that was managed earlier and is not named any more is removed.
      - Required for O(state=present). Not for C(slurmdbd.conf), which holds a password and belongs to slurmdbd.
    type: dict
  owner:
    description: Owner of the files; without it a file keeps the owner it has.
    type: str
  group:
    description: Group of the files; without it a file keeps the group it has.
    type: str
  mode:
    description: Rights of the files, in octal and quoted.
    type: str
    default: "0644"
  modes:
    description: Rights of single files, by name.
    type: dict
    default: {}
  version:
    description: Version of Slurm, such as V(24.11); without it O(slurmctld) is asked.
    type: str
    default: ""
  slurmctld:
    description: Path of the program.
    type: path
    default: /usr/sbin/slurmctld
  check_start:
    description: Whether to start slurmctld on trial with changed files.
    type: bool
    default: true
  check_timeout:
    description: After how many seconds to stop a trial that neither serves nor ends.
    type: float
    default: 10
  keep:
    description: How many earlier sets of files are kept.
    type: int
    default: 10
seealso:
  - module: steelrack.gpu_cluster.service_stale
"""

EXAMPLES = r"""
- name: Put the configuration in place
  steelrack.gpu_cluster.slurm_config:
    files:
      slurm.conf: "{{ lookup('ansible.builtin.template', 'slurm.conf.j2') }}"
      gres.conf: "{{ lookup('ansible.builtin.template', 'gres.conf.j2') }}"
    version: "24.11"
  register: slurm_config_result

- name: Tell that slurmctld runs with it
  steelrack.gpu_cluster.slurm_config:
    state: applied
"""

RETURN = r"""
action:
  description: >-
    What is to be done: V(none), V(reconfigure) (C(scontrol reconfigure)) or V(restart) (of slurmctld; of slurmd too if
    RV(slurmd_restart)). After a restart of slurmctld alone C(scontrol reconfigure) lets the nodes fetch the new files.
  type: str
  returned: success
  sample: reconfigure
slurmd_restart:
  description: Whether slurmd must be restarted on the nodes.
  type: bool
  returned: success
  sample: false
reasons:
  description: What differs and what each difference takes by itself.
  type: list
  elements: dict
  returned: state is present
  contains:
    file:
      description: Name of the file.
      type: str
    parameter:
      description: Name of the parameter, empty for a file as a whole.
      type: str
    scope:
      description: One of cluster, node and partition.
      type: str
    name:
      description: The nodes as a host list, or the partition.
      type: str
    old:
      description: The value before; null where there was none.
      type: str
    new:
      description: The wanted value; null where there is none.
      type: str
    action:
      description: One of none, reconfigure and restart.
      type: str
    slurmd_restart:
      description: Whether slurmd must be restarted for it.
      type: bool
    note:
      description: What else to know about such a change.
      type: str
drain_first:
  description: Nodes whose devices change; jobs on them that hold GPUs do not survive the change.
  type: list
  elements: str
  returned: state is present
  sample: [gpu007]
stop_slurmd_first:
  description: >-
    Nodes whose slurmd should be down while slurmctld takes the change over; otherwise they can be drained for values
    that differ between the two.
  type: list
  elements: str
  returned: state is present
  sample: [gpu007]
since:
  description: >-
    Time of the last change that took restarts of slurmd, in seconds since the epoch; null if there was none. The same
    in every later run, so that O(steelrack.gpu_cluster.service_stale#module:since) finds a slurmd that missed it.
  type: float
  returned: success
  sample: 1796067104.123456
resumed:
  description: Whether an earlier change was still waiting for its step.
  type: bool
  returned: state is present
  sample: false
changed_files:
  description: Files that were written or removed.
  type: list
  elements: str
  returned: success
  sample: [slurm.conf]
generation:
  description: Name of the folder with the files before the change; null without a change of files.
  type: str
  returned: success
  sample: 20261130T193144Z-1
check:
  description: The trial of the new files.
  type: dict
  returned: state is present
  contains:
    done:
      description: Whether it took place.
      type: bool
    reason:
      description: Why it did not.
      type: str
    warnings:
      description: Errors at which slurmctld went on.
      type: list
      elements: str
problems:
  description: Findings in the form that the whole collection uses.
  type: list
  elements: dict
  returned: state is present
"""

import grp
import os
import pwd
import socket
import time
from typing import Any, Mapping, NamedTuple

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils import problems
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import Change, Reason, classify, parse
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import trial as trials
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change.classify import merged
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change.store import (
    FOLDER,
    Attributes,
    Store,
    StoreError,
)

# Programs that slurmctld itself runs; those of slurmd need not be here.
_CONTROLLER_PROGRAMS = ("PrologSlurmctld", "EpilogSlurmctld", "SuspendProgram", "ResumeProgram", "ResumeFailProgram")


class Checked(NamedTuple):
    """Result of the trial: the ``check`` value of the module, and the problems found."""

    result: dict[str, Any]
    problems: list[problems.Problem]


def wrong_names(files: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the names and texts of the ``files`` option, as sentences."""
    found = []
    for name, text in files.items():
        if os.path.basename(name) != name or name in ("", ".", "..", FOLDER, "slurmdbd.conf"):
            found.append(f"{name!r} is not a name of a file beside slurm.conf that this module manages")
        elif not isinstance(text, str):
            found.append(f"the text of {name} is a {type(text).__name__}, not a string")
    if "slurm.conf" not in files:
        found.append("slurm.conf is missing")
    return found


def attributes_of(params: Mapping[str, Any]) -> dict[str, Attributes]:
    """Return owner and rights of each file. Raises ValueError for an unknown user or group or rights not in octal."""
    try:
        uid = pwd.getpwnam(params["owner"]).pw_uid if params["owner"] else None
    except KeyError:
        raise ValueError(f"there is no user {params['owner']}") from None
    try:
        gid = grp.getgrnam(params["group"]).gr_gid if params["group"] else None
    except KeyError:
        raise ValueError(f"there is no group {params['group']}") from None
    modes = {}
    for name in params["files"]:
        text = str(params["modes"].get(name, params["mode"]))
        try:
            modes[name] = int(text, 8)
        except ValueError:
            raise ValueError(f"the mode {text!r} of {name} is not octal") from None
    return {name: Attributes(uid, gid, mode) for name, mode in modes.items()}


def as_change(pending: Mapping[str, Any] | None) -> Change | None:
    """Return the change that a pending record holds."""
    if pending is None:
        return None
    values = pending["change"]
    return Change(
        action=values["action"],
        slurmd_restart=values["slurmd_restart"],
        reasons=tuple(Reason(**reason) for reason in values["reasons"]),
        drain_first=tuple(values["drain_first"]),
        stop_slurmd_first=tuple(values["stop_slurmd_first"]),
    )


def static_problems(files: Mapping[str, str], hostname: str) -> list[problems.Problem]:
    """Return what the trial cannot see, because its copy of slurm.conf differs there: host name and programs."""
    conf = parse.slurm_conf(files["slurm.conf"], files)
    found = []
    hosts = conf.parameters.get("slurmctldhost")
    if hosts is not None:
        names = [text.split("(")[0] for text in hosts.text.replace("SlurmctldHost=", "").split()]
        if not {hostname, hostname.split(".")[0]} & set(names):
            found.append(problems.make("SLM054", "", names=", ".join(names), hostname=hostname))
    for parameter in _CONTROLLER_PROGRAMS:
        value = conf.parameters.get(parameter.lower())
        path = value.text.split()[0] if value and value.text.split() else ""
        if path.startswith("/") and not os.access(path, os.X_OK):
            found.append(problems.make("SLM055", "", parameter=parameter, path=path))
    return found


def check(module: AnsibleModule, files: Mapping[str, str]) -> Checked:
    """Try the ``files``; fails if slurmctld refuses them."""
    params = module.params
    found = static_problems(files, socket.gethostname())
    if not params["check_start"]:
        return Checked({"done": False, "reason": "check_start is off", "warnings": []}, found)
    if not os.access(params["slurmctld"], os.X_OK):
        reason = f"{params['slurmctld']} is not installed yet"
        if not module.check_mode:
            found.append(problems.make("SLM053", "", detail=reason))
        return Checked({"done": False, "reason": reason, "warnings": []}, found)
    verdict = trials.run(files, params["conf_dir"], params["slurmctld"], params["check_timeout"])
    if verdict.fatal:
        refused = problems.make("SLM050", "", detail=" | ".join(verdict.fatal))
        module.fail_json(
            msg=f"{refused.message} {refused.remedy}",
            problems=[problem.as_dict() for problem in (refused, *found)],
            check={"done": True, "reason": "", "warnings": list(verdict.errors)},
        )
    if not verdict.done:
        found.append(problems.make("SLM053", "", detail=verdict.reason))
    if verdict.undecided and verdict.done:
        found.append(problems.make("SLM052", "", seconds=f"{params['check_timeout']:g}"))
    found += [problems.make("SLM051", "", detail=line) for line in verdict.errors]
    return Checked({"done": verdict.done, "reason": verdict.reason, "warnings": list(verdict.errors)}, found)


def version_of(module: AnsibleModule) -> str:
    """Return the version of Slurm: as given, or as slurmctld says."""
    given: str = module.params["version"]
    if given:
        return given
    program = module.params["slurmctld"]
    if not os.access(program, os.X_OK):
        module.fail_json(msg=f"The version of Slurm is unknown: {program} is not installed. Set the option version.")
    _status, out, _err = module.run_command([program, "-V"], check_rc=True)
    return str(out).strip()


def present(module: AnsibleModule, store: Store) -> dict[str, Any]:
    """Put the files in place and return the result of the module."""
    params = module.params
    wanted: dict[str, str] = params["files"]
    wrong = wrong_names(wanted)
    if wrong:
        module.fail_json(msg=f"The option files cannot be used: {'; '.join(wrong)}.")
    if not os.path.isdir(params["conf_dir"]) and not module.check_mode:
        module.fail_json(msg=f"{params['conf_dir']} does not exist. Install the package of slurmctld first.")
    manifest, pending = store.manifest(), store.pending()
    names = {*wanted, *manifest["files"]}
    old = store.read(names)
    differing = sorted(name for name in names if old.get(name) != wanted.get(name))
    waiting = as_change(pending)
    try:
        attributes = attributes_of(params)
        change = classify(old, wanted, version_of(module))
    except ValueError as error:
        module.fail_json(msg=f"The Slurm configuration cannot be handled: {error}.")
    checked = check(module, wanted) if differing else Checked({"done": False, "reason": "", "warnings": []}, [])
    total = merged(waiting, change) if waiting else change
    repair = store.wrong_attributes({name: attributes[name] for name in wanted if name not in differing})
    since = manifest["since"]
    if change.slurmd_restart:
        since = time.time()
    elif pending and total.slurmd_restart:
        since = pending["since"]
    generation = None
    if not module.check_mode:
        if differing:
            generation = replace_all(store, sorted(names), wanted, attributes, total, since, pending)
            store.prune(params["keep"], (store.pending() or {}).get("generation"))
        for name in repair:
            store.set_attributes(name, attributes[name])
        if differing or manifest["files"] != sorted(wanted) or manifest["since"] != since:
            store.save_manifest(wanted, since)
    for problem in checked.problems:
        module.warn(f"{problem.id}: {problem.message} {problem.remedy}")
    return {
        "changed": bool(differing or repair or waiting),
        **total.as_dict(),
        "since": since,
        "resumed": waiting is not None,
        "changed_files": sorted({*differing, *repair}),
        "generation": generation,
        "check": checked.result,
        "problems": [problem.as_dict() for problem in checked.problems],
        **_diff(module, params["conf_dir"], {name: (old.get(name), wanted.get(name)) for name in differing}),
    }


def replace_all(
    store: Store,
    names: list[str],
    wanted: Mapping[str, str],
    attributes: Mapping[str, Attributes],
    change: Change,
    since: float | None,
    pending: Mapping[str, Any] | None,
) -> str:
    """Keep the old files, remember the change, then replace the files; returns the name of the generation.

    In this order an interruption at any point leaves either the old state or a change that the next run carries on.
    The way back leads to the files before the first change that was not applied: those are the ones that slurmctld
    ran with.
    """
    generation = store.keep_generation(names)
    if change.action != "none":
        store.save_pending(
            {
                "change": change.as_dict(),
                "since": since,
                "generation": pending["generation"] if pending else generation,
            }
        )
    for name in names:
        if name in wanted:
            if store.read([name]).get(name) != wanted[name]:
                store.replace(name, wanted[name], attributes[name])
        else:
            store.remove(name)
    return generation


def applied(module: AnsibleModule, store: Store) -> dict[str, Any]:
    """Forget the pending change and return the result of the module."""
    pending = store.pending()
    if pending is not None and not module.check_mode:
        store.clear_pending()
    return _idle(store, changed=pending is not None)


def rolled_back(module: AnsibleModule, store: Store) -> dict[str, Any]:
    """Put the files before the pending change back and return the result of the module."""
    pending = store.pending()
    if pending is None:
        return _idle(store, changed=False)
    kept, manifest = store.generation(pending["generation"])
    if "slurm.conf" not in kept:
        problem = problems.make("SLM056", "")
        module.fail_json(msg=f"{problem.message} {problem.remedy}", problems=[problem.as_dict()])
    names = {*store.manifest()["files"], *kept}
    now = store.read(names)
    before = {}
    for name, path in kept.items():
        with open(path, encoding="utf-8", errors="surrogateescape") as source:
            before[name] = source.read()
    differing = sorted(name for name in names if now.get(name) != before.get(name))
    if not module.check_mode:
        for name in differing:
            if name in kept:
                store.restore(name, kept[name])
            else:
                store.remove(name)
        store.save_manifest(manifest["files"], manifest["since"])
        store.clear_pending()
    return {
        **_idle(store, changed=True),
        "action": "restart",
        "since": manifest["since"],
        "changed_files": differing,
        "generation": pending["generation"],
        **_diff(module, module.params["conf_dir"], {name: (now.get(name), before.get(name)) for name in differing}),
    }


def _idle(store: Store, changed: bool) -> dict[str, Any]:
    return {
        "changed": changed,
        "action": "none",
        "slurmd_restart": False,
        "since": store.manifest()["since"],
        "changed_files": [],
        "generation": None,
    }


def _diff(module: AnsibleModule, conf_dir: str, files: Mapping[str, tuple[str | None, str | None]]) -> dict[str, Any]:
    """Return the diff of each file (old, new; None: absent) where a diff was asked for: it can be large."""
    if not module._diff:
        return {}
    return {
        "diff": [
            {
                "before_header": os.path.join(conf_dir, name) if old is not None else "/dev/null",
                "after_header": os.path.join(conf_dir, name) if new is not None else "/dev/null",
                "before": old or "",
                "after": new or "",
            }
            for name, (old, new) in sorted(files.items())
        ]
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "conf_dir": {"type": "path", "default": "/etc/slurm"},
            "state": {"type": "str", "choices": ["present", "applied", "rolled_back"], "default": "present"},
            "files": {"type": "dict"},
            "owner": {"type": "str"},
            "group": {"type": "str"},
            "mode": {"type": "str", "default": "0644"},
            "modes": {"type": "dict", "default": {}},
            "version": {"type": "str", "default": ""},
            "slurmctld": {"type": "path", "default": "/usr/sbin/slurmctld"},
            "check_start": {"type": "bool", "default": True},
            "check_timeout": {"type": "float", "default": 10},
            "keep": {"type": "int", "default": 10},
        },
        required_if=[("state", "present", ("files",))],
        supports_check_mode=True,
    )
    store = Store(module.params["conf_dir"])
    steps = {"present": present, "applied": applied, "rolled_back": rolled_back}
    try:
        result = steps[module.params["state"]](module, store)
    except StoreError as error:
        module.fail_json(msg=f"The memory of earlier changes cannot be used: {error}.")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
