#!/usr/bin/env bash
# A first edit: Harry Potter studied at Hogwarts -> Ilvermorny, by ROME, on the small model.
# Needs an installed ThinkEval; seconds, and about a minute the first time.
set -euo pipefail

thinkeval import hogwarts
thinkeval graph rewrites hogwarts

# Exact likelihoods only; leave --samples out for the papers' protocol of five sampled answers.
EDIT=$(thinkeval score harry-potter--studied-at -m rome --samples 0 --json |
  python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["edit"])')

thinkeval show "$EDIT"                          # verdict, chains by first fact, what to edit next
thinkeval results chains "$EDIT" --surviving --limit 5  # p_pre -> p_post of each link
