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
    "-XX:MaxInlineLevel=9",
    "-XX:FreqInlineSize=160",
    "-XX:InlineSmallCode=1200",
)
"""Of a server that runs for all tests: the second compiler pays off after some hundred planned
queries, for what runs often, and takes less time for it with less inlining. With Java's own
inlining the server takes 6 % more processor time; with a third of these thresholds, which are
twelve times Java's own, 7 % more again (measured with 381 tests of the graph tier)."""
