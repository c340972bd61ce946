"""Logs of the service and its workers: lines on standard error, with the time."""

from __future__ import annotations

import logging


def set_up() -> None:
    """Begin to log."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)  # we tell of its errors ourselves
    for client in ("httpx", "httpx2"):
        logging.getLogger(client).setLevel(logging.WARNING)  # a line for each request says nothing
