"""The proxy of the environment for a server's address, and this machine's own addresses.

httpx takes proxies from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. A proxy on another
machine does not reach this machine's own addresses, so none is used for them; for others an error
names the proxy, as the server may run and the proxy not.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from .errors import UsageError

T = TypeVar("T")


def is_own(address: str) -> bool:
    """Return True if a URL leads to this machine: `localhost`, 127.0.0.0/8, `::1`, or 0.0.0.0."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified


def through(address: str) -> str:
    """` through the proxy VARIABLE=URL` for a message; empty if none is used for the address.

    A user and a password in the proxy's URL are left out.
    """
    found = _proxy(address)
    return "" if found is None else f" through the proxy {found}"


def built(address: str, make: Callable[[bool], T]) -> T:
    """Return the client that `make` returns; its argument is True to use the environment's proxies.

    Raises:
        UsageError: the proxy cannot be used, such as one of SOCKS without its package.
    """
    try:
        return make(not is_own(address))
    except (ImportError, ValueError) as error:
        socks = isinstance(error, ImportError)
        # httpx makes a transport for each variable, so one that the address does not use fails too.
        if (proxy := (_socks() if socks else None) or _proxy(address)) is None:
            raise
        needs = ", a SOCKS proxy, which needs the package `socksio`" if socks else f": {error}"
        raise UsageError(
            f"The proxy of the environment cannot be used: {proxy}{needs}.",
            remedy=('`pip install "httpx[socks]"`, or unset' if socks else "Correct or unset")
            + f" the variable, or add {urlsplit(address).hostname} to NO_PROXY.",
        ) from error


def _proxy(address: str) -> str | None:
    parts = urlsplit(address)
    proxies = getproxies_environment()
    scheme = parts.scheme if parts.scheme in proxies else "all"
    if scheme not in proxies or is_own(address) or proxy_bypass(parts.netloc):
        return None
    return _named(scheme, proxies[scheme])


def _socks() -> str | None:
    found = getproxies_environment().items()
    return next((_named(s, url) for s, url in found if url.lower().startswith("socks")), None)


def _named(scheme: str, url: str) -> str:
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    name = next((name for name in names if os.environ.get(name)), names[1])
    shown, mark, place = url.rpartition("@")
    return f"{name}={shown.partition('://')[0]}://{place}" if mark else f"{name}={place}"
