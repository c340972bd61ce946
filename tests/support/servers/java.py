"""Options of Java for the servers of the tests: none of them is timed."""

from __future__ import annotations

SERIAL = "-XX:+UseSerialGC"

QUICK = (SERIAL, "-XX:TieredStopAtLevel=1")
"""Of a server that runs for a few tests: compiles less, so starts sooner and takes less of two
cores."""

LONG = (
    SERIAL,
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=5000",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=200000",
)
"""Of a server that runs for all tests: the second compiler pays off after some hundred planned
queries, for what runs often. With Java's own thresholds, at most a quarter of these, the server
takes an eighth more processor time."""
