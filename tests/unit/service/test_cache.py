"""The in-memory cache: bounded, one computation for each key, exceptions not cached."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from thinkeval.service.base.cache import Cache


def test_concurrent_requests_compute_a_value_once() -> None:
    cache: Cache[int] = Cache(4)
    calls: list[int] = []
    start = threading.Barrier(8)

    def compute() -> int:
        calls.append(1)
        time.sleep(0.05)
        return 7

    def ask(_: int) -> int:
        start.wait()
        return cache.get("key", compute)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {7}
    assert len(calls) == 1
    assert cache.peek("key") == 7
    assert cache.peek("other") is None


def test_the_least_recently_used_values_are_evicted() -> None:
    cache: Cache[bytes] = Cache(10, len)
    for key in "abc":
        cache.get(key, lambda: b"x" * 4)
    assert [cache.peek(key) is None for key in "abc"] == [True, False, False]
    assert cache.get("large", lambda: b"x" * 11) == b"x" * 11
    assert cache.peek("large") is None
    assert cache.peek("c") is not None


def test_values_expire_and_exceptions_are_not_cached() -> None:
    cache: Cache[int] = Cache(4, ttl_s=0.02)
    assert cache.get("key", lambda: 1) == 1
    time.sleep(0.05)
    assert cache.get("key", lambda: 2) == 2

    def fail() -> int:
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        cache.get("failing", fail)
    assert cache.get("failing", lambda: 3) == 3
