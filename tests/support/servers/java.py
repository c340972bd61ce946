"""Options of Java for the servers of the tests: none of them is timed."""

from __future__ import annotations

QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Compiles less, so that a server starts sooner and takes less of two cores."""
