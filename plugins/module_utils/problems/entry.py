# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of one catalogue entry."""

from __future__ import annotations

from dataclasses import dataclass

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True)
class Entry:
    """What is known about a kind of problem: ``message`` and ``remedy`` are :meth:`str.format` templates.

    ``{host}`` is always available in both; every other field is given by the code that finds the problem.
    """

    id: str
    severity: str
    title: str
    message: str
    remedy: str
