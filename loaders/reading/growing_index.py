"""Index of a list that grows between reads: every item is indexed once.

Loaders append to `GraphAssembly.facts` and `.rewrites` and search them in between. A linear search
for each record would take quadratic time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class GrowingIndex(Generic[K, T]):
    """Items of a list by their key, in the list's order. Items may be appended, not removed."""

    def __init__(self, items: Sequence[T], key: Callable[[T], K]) -> None:
        self._items, self._key = items, key
        self._by_key: defaultdict[K, list[T]] = defaultdict(list)
        self._indexed = 0

    def __getitem__(self, key: K) -> Sequence[T]:
        """The items with this key; empty if there are none."""
        while self._indexed < len(self._items):
            item = self._items[self._indexed]
            self._by_key[self._key(item)].append(item)
            self._indexed += 1
        return self._by_key.get(key, ())
