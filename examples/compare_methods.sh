#!/usr/bin/env bash
# Compares methods on one fact: ROME, MEMIT and the control that changes nothing.
# Needs an installed ThinkEval; seconds, and about a minute the first time.
set -euo pipefail

thinkeval import hogwarts
id() { python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["edit"])'; }
ROME=$(thinkeval score harry-potter--studied-at -m rome --samples 0 --json | id)
MEMIT=$(thinkeval score harry-potter--studied-at -m memit --samples 0 --json | id)
NONE=$(thinkeval score harry-potter--studied-at -m none --samples 0 --json | id)

# IFR beside efficacy, Preservation and subject retention. One rewrite gives no interval: nothing
# here is evidence for other rewrites, or for large models.
thinkeval report "$ROME" "$MEMIT" "$NONE"
thinkeval report "$ROME" "$MEMIT" "$NONE" -f latex
thinkeval diff "$ROME" "$MEMIT"  # facts that changed sides, chains that only one of them cut
