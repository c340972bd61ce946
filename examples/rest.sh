#!/usr/bin/env bash
# By REST: submit an edit, follow it, read the chains that survive and the facts that leak most.
# Needs `thinkeval serve` at $URL, and curl; seconds.
set -euo pipefail
URL=${URL:-http://127.0.0.1:8000}
# A service that listens on other machines' requests wants its token.
call() { curl -sSf ${TOKEN:+-H "Authorization: Bearer $TOKEN"} -H 'content-type: application/json' "$@"; }
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

call "$URL/v1/graphs/import" -d '{"source": "hogwarts"}' >/dev/null
EDIT=$(call "$URL/v1/edits" -d '{"graph": "hogwarts", "rewrite": "harry-potter--studied-at",
  "model": "organism", "method": "rome", "samples": 0}' | field id)

until call "$URL/v1/edits/$EDIT" | field status | grep -xE 'succeeded|failed|cancelled'; do
  call "$URL/v1/edits/$EDIT" | field stage
  sleep 1
done
call "$URL/v1/edits/$EDIT/chains?surviving=true&limit=3" | python3 -m json.tool
call "$URL/v1/edits/$EDIT/tables/leaks?format=json" | python3 -m json.tool
