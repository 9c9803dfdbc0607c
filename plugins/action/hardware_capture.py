# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetch a bundle of a node's hardware: the module of the same name reads, this writes on the control node."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.bundle import FOLDERS


def checked(files: Mapping[str, str]) -> dict[PurePosixPath, bytes]:
    """Return path -> content of what a node sent; raises ValueError for a path that leads out of the bundle."""
    bundle = {}
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or len(path.parts) < 2 or path.parts[0] not in FOLDERS:
            raise ValueError(f"{name!r} is no path inside a bundle")
        bundle[path] = base64.b64decode(content)
    return bundle


def present(folder: Path) -> dict[PurePosixPath, bytes]:
    """Return path -> content of the bundle in ``folder``; empty when there is none."""
    files = (path for name in FOLDERS for path in (folder / name).rglob("*") if path.is_file())
    return {PurePosixPath(path.relative_to(folder)): path.read_bytes() for path in files}


def replace(folder: Path, bundle: Mapping[PurePosixPath, bytes]) -> None:
    """Make ``folder`` hold this bundle and no part of an older one; whatever else is in it stays."""
    for name in FOLDERS:
        if (folder / name).exists():
            shutil.rmtree(folder / name)
    for path, content in bundle.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


class ActionModule(ActionBase):
    """The action ``hardware_capture``; its options are documented in the module of that name."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Let the module read the node, then write the bundle where it differs from the one that is there."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        taken = self._execute_module(
            module_name="steelrack.gpu_cluster.hardware_capture", module_args=dict(self._task.args), task_vars=task_vars
        )
        files = taken.pop("files", None)
        result.update(taken)
        if files is None:  # the module failed, or the node could not be reached
            return result
        try:
            bundle = checked(files)
        except ValueError as error:
            raise AnsibleActionFail(f"The node sent something that is not a bundle: {error}.") from error
        folder = Path(self._task.args["dest"]).expanduser()
        result.update(changed=bundle != present(folder), dest=str(folder), count=len(bundle))
        if result["changed"] and not self._task.check_mode:
            replace(folder, bundle)
        return result
