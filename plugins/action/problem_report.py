# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show problems as readable text and fail if one of them is an error."""

from __future__ import annotations

from typing import Any, ClassVar

from ansible.plugins.action import ActionBase

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import errors, render, without


class ActionModule(ActionBase):
    """Runs on the control node only; the host of the task is not contacted."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    _VALID_ARGS: ClassVar[frozenset[str]] = frozenset({"problems", "skip"})

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Return the text of all problems in C(msg), shown also without -v; failed where one is an error."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(
            argument_spec={
                "problems": {"type": "list", "elements": "dict", "required": True},
                "skip": {"type": "list", "elements": "str", "default": []},
            }
        )
        problems = without(args["problems"], args["skip"])
        result.update(changed=False, failed=bool(errors(problems)), msg=render(problems) or "no problems")
        if problems:
            # The mark with which the debug action has its message shown.
            result["_ansible_verbose_always"] = True
        return result
