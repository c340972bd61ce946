"""Options of Java for the servers of the tests: none of them is timed."""

from __future__ import annotations

SERIAL = "-XX:+UseSerialGC"

UNVERIFIED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
"""Loads the classes of the server's files, whose checksums were compared, without verifying them
again: a start takes 7.0 s of a processor where it took 8.0."""

QUICK = (SERIAL, *UNVERIFIED, "-XX:TieredStopAtLevel=1")
"""Of a server that runs for a few tests: compiles less, so starts sooner and takes less of two
cores."""

LONG = (
    SERIAL,
    *UNVERIFIED,
    "-Xmn512m",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UseTransparentHugePages",
    "-XX:Tier3InvocationThreshold=50",
    "-XX:Tier3MinInvocationThreshold=20",
    "-XX:Tier3CompileThreshold=400",
    "-XX:Tier3BackEdgeThreshold=10000",
    "-XX:Tier4InvocationThreshold=60000",
    "-XX:Tier4MinInvocationThreshold=15000",
    "-XX:Tier4CompileThreshold=180000",
    "-XX:Tier4BackEdgeThreshold=600000",
    "-XX:MaxInlineLevel=9",
    "-XX:FreqInlineSize=160",
    "-XX:InlineSmallCode=1200",
)
"""Of a server that plans some hundred queries, with a heap of 1 GB; planning is most of what it
does. The first compiler begins early, at a quarter of Java's own thresholds; the second pays off
late, for what runs often, and takes less time with less inlining. To plan all of our queries twice
took 85 and 87 s of a processor without huge pages, the large young generation and the early first
compiler, 81 s without the last of these, and 77 s with them."""
