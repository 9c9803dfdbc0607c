# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""InfiniBand and RoCE adapters."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.infiniband import read_adapters

CLASS = "sys/class/infiniband"


def test_adapters_and_ports(evidence: Callable[..., Evidence]) -> None:
    files = {
        f"{CLASS}/mlx5_10/node_guid": "0000:0000:0000:0000\n",
        f"{CLASS}/mlx5_2/node_guid": "A088:c203:0083:1594\n",
        f"{CLASS}/mlx5_2/ports/1/state": "4: ACTIVE\n",
        f"{CLASS}/mlx5_2/ports/1/link_layer": "InfiniBand\n",
        f"{CLASS}/mlx5_2/ports/1/rate": "400 Gb/sec (4X NDR)\n",
        f"{CLASS}/mlx5_2/ports/1/gids/0": "fe80:0000:0000:0000:a088:c203:0083:1595\n",
        f"{CLASS}/mlx5_2/ports/2/state": "1: DOWN\n",
        f"{CLASS}/mlx5_2/ports/2/link_layer": "Ethernet\n",
        f"{CLASS}/mlx5_2/ports/2/rate": "2.5 Gb/sec (1X SDR)\n",
        f"{CLASS}/mlx5_2/ports/2/gids/0": "fe80:0000:0000:0000:0011:22ff:fe33:4455\n",
    }
    assert read_adapters(evidence(files)) == [
        {
            "name": "mlx5_2",
            "guid": "0xa088c20300831594",
            "ports": [
                {
                    "port": 1,
                    "guid": "0xa088c20300831595",
                    "state": "active",
                    "link_layer": "InfiniBand",
                    "rate_gbps": 400,
                    "leaf": None,
                },
                {
                    "port": 2,
                    "guid": None,
                    "state": "down",
                    "link_layer": "Ethernet",
                    "rate_gbps": 2.5,
                    "leaf": None,
                },
            ],
        },
        {"name": "mlx5_10", "guid": None, "ports": []},
    ]


def test_unknown_values_are_null(evidence: Callable[..., Evidence]) -> None:
    (adapter,) = read_adapters(evidence({f"{CLASS}/mlx5_0/ports/1/phys_state": "5: LinkUp\n"}))
    assert adapter["guid"] is None
    assert set(adapter["ports"][0].values()) == {1, None}


def test_none(evidence: Callable[..., Evidence]) -> None:
    assert read_adapters(evidence({})) == []
