"""Where a host may be reached, and which addresses are never visited."""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Resolver = (
    Callable[[str, int], tuple | None]
    | Mapping[tuple[str, int], tuple[str, int] | tuple[str, int, str]]
)


class Failure(Exception):
    """A page did not come; `outcome` is one of records.FETCH_OUTCOMES.

    `passing` says that the same request may succeed a moment later.
    """

    def __init__(self, outcome: str, reason: str, *, passing: bool = False):
        super().__init__(f"{outcome}: {reason}")
        self.outcome, self.reason, self.passing = outcome, reason, passing


class Address(NamedTuple):
    """Where to connect to: an IP address that was checked, a port, and the scheme spoken there."""

    ip: str
    port: int
    scheme: str


_NEVER = (
    "168.63.129.16/32",  # metadata of a cloud provider at a public address
    "192.0.0.0/24",  # protocol assignments
    "192.88.99.0/24",  # relays to 6to4, deprecated
    "64:ff9b:1::/48",  # local-use NAT64
    "2001::/23",  # Teredo and other protocol assignments
    "fec0::/10",  # site-local, deprecated
    "3fff::/20",  # documentation
    "5f00::/16",  # segment routing
    "::/96",  # IPv4-compatible, deprecated
)
_NEVER_NETWORKS = tuple(ipaddress.ip_network(network) for network in _NEVER)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(ip: str) -> bool:
    """Whether an IP address is one of the open internet, wherever it may be wrapped in IPv6."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if address.version == 6:
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    if address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return address.is_global and not any(
        address.version == network.version and address in network for network in _NEVER_NETWORKS
    )


def find_addresses(
    scheme: str, host: str, port: int, resolver: Resolver | None, lookup: Callable
) -> list[Address]:
    """Return where a host may be reached.

    What the given resolver says is taken as it is: it exists so that real host names can be served
    from this machine. Whatever ordinary name lookup says is checked.

    Raises
    ------
    Failure
        `not_allowed` if the host has no public address, `unreachable` if it has none at all.
    """
    given = resolver.get((host, port)) if isinstance(resolver, Mapping) else None
    if callable(resolver):
        given = resolver(host, port)
    if given is not None:
        return [Address(given[0], given[1], given[2] if len(given) > 2 else scheme)]
    if port not in (80, 443) and port < 1024:
        raise Failure("not_allowed", f"address not allowed: port {port} is not a port of the web")
    found = lookup(host.strip("[]"), port, type=socket.SOCK_STREAM)
    ips = list(dict.fromkeys(entry[4][0] for entry in found))
    public = [Address(ip, port, scheme) for ip in ips if is_public(ip)]
    if not public:
        raise Failure("not_allowed", f"address not allowed: {host} is at {', '.join(ips)}")
    return public


def look_up_in_time(lookup: Callable, seconds: float, host: str, port: int, **kind: Any) -> list:
    """Look a host up in a thread of its own, since a lookup knows no timeout."""
    results: queue.SimpleQueue = queue.SimpleQueue()

    def look_up() -> None:
        try:
            results.put(lookup(host, port, **kind))
        except Exception as error:
            results.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        found = results.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError("no answer to the name lookup in time") from None
    if isinstance(found, Exception):
        raise found
    return found
