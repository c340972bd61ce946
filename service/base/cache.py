"""In-memory cache of computed results, shared by the threads of one service."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Any, Generic, TypeVar, cast

from cachetools import Cache as CacheBase
from cachetools import LRUCache, TTLCache, cached

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Values by key, bounded; the least recently used are evicted first.

    A key must name everything that its value depends on. Concurrent requests for one key compute
    its value once: the others wait for it (cachetools' condition). An exception is not cached.

    Args:
        size: total weight of the stored values, by `weigh`; a heavier value is not stored.
        weigh: the weight of a value; each weighs 1 by default.
        ttl_s: seconds after which a value expires; without, it does not.
    """

    def __init__(
        self,
        size: int,
        weigh: Callable[[Value], int] | None = None,
        *,
        ttl_s: float | None = None,
    ) -> None:
        self._values: CacheBase[Hashable, Value]
        if ttl_s is None:
            self._values = LRUCache(size, getsizeof=weigh)
        else:
            # The stubs leave the key's type open here.
            self._values = cast(Any, TTLCache(size, ttl_s, getsizeof=weigh))
        self._condition = Condition()
        self._get: Callable[[Hashable, Callable[[], Value]], Value] = cached(
            cast(Any, self._values), key=_key_only, condition=self._condition
        )(_computed)

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The cached value of a key; computed and stored if it is missing."""
        return self._get(key, compute)

    def peek(self, key: Hashable) -> Value | None:
        """The cached value of a key, or None; never computes."""
        with self._condition:
            return self._values.get(key)


def _key_only(key: Hashable, compute: object) -> Hashable:
    return key


def _computed(key: Hashable, compute: Callable[[], Value]) -> Value:
    return compute()
