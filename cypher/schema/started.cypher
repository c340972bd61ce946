// When the server was started, by its own clock.
//
// mode: read
// params:
// returns: one row
//   started_ms   INTEGER|NULL   milliseconds since 1970; null where the server does not say

SHOW HOME DATABASE YIELD lastStartTime
RETURN lastStartTime.epochMillis AS started_ms
