"""Kept results: what is dear to compute, held in memory under all that decides it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from cachetools import LRUCache

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by keys that name everything the value depends on; the ones asked last stay.

    Args:
        size: how much is held, by `weigh`; a value that weighs more is not held.
        weigh: a value's weight; 1 for each if not given.
    """

    def __init__(self, size: int, weigh: Callable[[Value], int] | None = None) -> None:
        self._weigh = weigh or (lambda value: 1)
        self._kept: LRUCache[tuple[object, ...], Value] = LRUCache(size, getsizeof=self._weigh)
        self._lock = threading.Lock()
        self._making: dict[tuple[object, ...], threading.Lock] = {}

    def get(self, key: tuple[object, ...], make: Callable[[], Value]) -> Value:
        """The value of that key; of those who ask at the same moment one makes it for all."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                return found
            turn = self._making.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                found = self._kept.get(key)
            if found is None:
                try:
                    found = make()
                finally:  # also where it raises: hostile keys must not pile up
                    with self._lock:
                        self._making.pop(key, None)
                with self._lock:
                    if self._weigh(found) <= self._kept.maxsize:
                        self._kept[key] = found
        return found
