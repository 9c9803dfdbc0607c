# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of the same name and note the control node's clock before and after.

The host's clock was read between the two, so the difference of the clocks is known within certain bounds, however slow
the connection is.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Adds C(control_before) and C(control_after) to the module's result."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Return the module's result with both times."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        before = time.time()
        result.update(self._execute_module(task_vars=task_vars))
        result.update(control_before=before, control_after=time.time())
        return result
