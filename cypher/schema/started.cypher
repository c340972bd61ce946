// When the server was started, by its own clock.

SHOW HOME DATABASE YIELD lastStartTime
RETURN lastStartTime.epochMillis AS started_ms
