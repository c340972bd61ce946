#!/bin/bash
cd "$1"; .venv/bin/ruff check . --output-format concise | tail -15; .venv/bin/ruff format --check . | tail -3
PYTHONPATH=build/links .venv/bin/lint-imports --no-cache 2>&1 | grep -A30 "Contracts: \|BROKEN"
.venv/bin/pyrefly check --python-interpreter-path .venv/bin/python > /tmp/pyr.txt 2>&1; grep -A4 "ERROR" /tmp/pyr.txt | head -60; tail -1 /tmp/pyr.txt
