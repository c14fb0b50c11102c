"""A Ray cluster of two nodes on 127.0.0.1, one of which can be killed.

    python -m tests.fault_injection.ray_nodes

Print the address of the cluster. Kill the second node after the first line on standard input, and print
"killed"; stop the cluster at the end of standard input.
"""

import os
import socket
import sys
from contextlib import ExitStack
from typing import Any

#: Addresses of 127.0.0.1 only, and no statistics.
RAY_SETTINGS = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}


def _make_node_options() -> dict[str, object]:
    """Return the options of a node; with fixed ports, Ray waits less for the processes of the node."""
    names = (
        "metrics_agent_port",
        "metrics_export_port",
        "dashboard_agent_listen_port",
        "runtime_env_agent_port",
    )
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports: dict[str, object] = {
            name: each.getsockname()[1] for name, each in zip(names, sockets, strict=True)
        }
    return {
        **ports,
        "node_ip_address": "127.0.0.1",
        "object_store_memory": 80_000_000,
        "include_log_monitor": False,
        "no_monitor": True,
    }


def _start_nodes(attempts: int = 3) -> tuple[Any, Any]:
    """Return a cluster of a head without a CPU and two nodes, and the second node."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=0, include_dashboard=False, **_make_node_options())
        cluster.add_node(num_cpus=1, **_make_node_options())
        return cluster, cluster.add_node(num_cpus=1, **_make_node_options())
    except Exception:  # Ray raises this very class where the processes of a node take more than 15 s to start
        cluster.shutdown()
        if attempts == 1:
            raise
        return _start_nodes(attempts - 1)


def main() -> None:
    """Run the cluster."""
    os.environ.update(RAY_SETTINGS)
    cluster, second = _start_nodes()
    print(cluster.address, flush=True)
    if sys.stdin.readline():
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
        sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
