"""Establish-and-update knowledge sets (DepEdit): built, stored, asked and scored.

`build.py` draws sets from a graph's rules, `updates.py` their copies, `wording.py` their words;
`questions.py` says what is asked, `store.py` keeps sets and runs, `metrics.py` and `report.py`
score them. The protocol itself is in `protocol.py`, its methods in `strategies/`.
"""
