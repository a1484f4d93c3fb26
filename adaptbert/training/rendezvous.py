"""Where ranks meet before they are connected: a file of one machine, or a server that several machines reach.

The connection itself must use the right network: on one machine the loopback address, between machines the interface
that leads to the server. A host name often stands for the loopback address, which no other machine reaches.
"""

import os
import socket
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
LOOPBACK = "lo" if sys.platform == "linux" else ""
SERVER = "tcp://"


def opened(place: str, world: int, patience: timedelta) -> "Store":
    """Opens the store at a place, and says to the libraries which network leads there; what the user has set stays.

    Args:
        place: a path, or `tcp://host:port`.
        patience: how long a rank waits for another one.
    """
    from torch import distributed

    if not place.startswith(SERVER):
        _use(LOOPBACK)
        return distributed.FileStore(place, world)  # type: ignore[attr-defined]
    host, _, port = place.removeprefix(SERVER).rpartition(":")
    _use(_interface_towards(host))
    return distributed.TCPStore(  # type: ignore[attr-defined]
        host, int(port), is_master=False, timeout=patience
    )


def device_of(rank: int, place: str) -> int:
    """Which of the CUDA devices that its process sees a rank uses: on a cluster it sees its own only."""
    return 0 if place.startswith(SERVER) else rank


def _use(interface: str) -> None:
    for name in INTERFACES if interface else ():
        os.environ.setdefault(name, interface)


def _interface_towards(host: str) -> str:
    """The network interface by which this machine reaches a host; empty if it has no name."""
    import psutil

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # nothing is sent: the system only looks up the route
        own = probe.getsockname()[0]
    addresses = ((name, each.address) for name, several in psutil.net_if_addrs().items() for each in several)
    return next((name for name, address in addresses if address == own), "")
