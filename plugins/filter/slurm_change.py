# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter that tells what a change of Slurm's configuration files takes, without a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import classify


def slurm_change_class(old: Mapping[str, str], new: Mapping[str, str], version: str) -> dict[str, Any]:
    """Return the step from the files ``old`` to the files ``new`` (name -> text) as a dictionary."""
    for which, files in (("old", old), ("new", new)):
        if not isinstance(files, Mapping) or not all(isinstance(text, str) for text in files.values()):
            raise AnsibleFilterError(
                f"slurm_change_class: the {which} files must be a dictionary of file name and text; "
                "read them with the template or file lookup first."
            )
    try:
        return classify(old, new, str(version)).as_dict()
    except ValueError as error:
        raise AnsibleFilterError(f"slurm_change_class: {error}; set slurm_version.") from error


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"slurm_change_class": slurm_change_class}
