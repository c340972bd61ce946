#!/usr/bin/env bash
# A graph and a rule of one's own: what leaks by chains, and what follows by the rule.
# Needs an installed ThinkEval; about a minute, in which the small model is trained on the graph.
set -euo pipefail
cd "$(dirname "$0")"

thinkeval import studio.yaml
thinkeval graph rules add studio studio_rules.yaml
thinkeval graph rules instantiate studio

# Ada should work at Harbour Films. AlphaEdit installs it; ROME does not on so small a graph.
EDIT=$(thinkeval score "Ada Novak" -g studio -m alphaedit --samples 0 --implications --json |
  python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["edit"])')
thinkeval results chains "$EDIT"
thinkeval report "$EDIT"  # with what the rule concludes from the facts that are left
