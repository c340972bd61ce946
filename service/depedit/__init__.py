"""Establish-and-update knowledge sets (DepEdit): built, stored, asked and scored.

`build.py` and `draw.py` draw sets from a graph, `updates.py` their copies, `wording.py` words them;
`questions.py` says what is asked, `store.py` keeps sets and runs, `metrics.py` and `report.py`
score them. The protocol itself is in `protocol.py`, its methods in `strategies/`.
"""
