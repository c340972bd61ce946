#!/usr/bin/env bash
# Compares methods on one fact: ROME, MEMIT and the control that changes nothing.
# Needs an installed ThinkEval; seconds, and about a minute the first time.
set -euo pipefail

thinkeval import hogwarts
read -r ROME MEMIT NONE < <(
  thinkeval score harry-potter--studied-at -m rome -m memit -m none --samples 0 --json |
    python3 -c 'import json, sys; print(*(score["edit"] for score in json.load(sys.stdin)))'
)

# IFR beside efficacy, Preservation and subject retention. One rewrite gives no interval: nothing
# here is evidence for other rewrites, or for large models.
thinkeval report "$ROME" "$MEMIT" "$NONE"
thinkeval report "$ROME" "$MEMIT" "$NONE" -f latex
# The facts that MEMIT's model answers otherwise than ROME's, and the chains that opened or closed.
thinkeval compare "organism+edit:$ROME" "organism+edit:$MEMIT" -g hogwarts \
  -r harry-potter--studied-at --samples 0
