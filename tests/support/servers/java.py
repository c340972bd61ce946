"""Options of Java for the servers of the tests: none of them is timed."""

from __future__ import annotations

SERIAL = "-XX:+UseSerialGC"

QUICK = (SERIAL, "-XX:TieredStopAtLevel=1")
"""Of a server that runs for a few tests: compiles less, so starts sooner and takes less of two
cores."""

LONG = (
    SERIAL,
    "-XX:Tier4InvocationThreshold=60000",
    "-XX:Tier4MinInvocationThreshold=15000",
    "-XX:Tier4CompileThreshold=180000",
    "-XX:Tier4BackEdgeThreshold=600000",
)
"""Of a server that runs for all tests: the second compiler pays off after some hundred planned
queries, for what runs often. With a third of these thresholds, which are twelve times Java's own,
the server takes 7 % more processor time (measured with 381 tests of the graph tier)."""
