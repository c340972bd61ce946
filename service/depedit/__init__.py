"""Establish-and-update knowledge sets (DepEdit): build, store, run the protocol, score.

`build.py` draws sets from a graph, `updates.py` their updated copies; `questions.py` lists the
questions of a set in the wording of its setting; `store.py` stores sets and runs, `metrics.py` and
`report.py` score runs. `protocol.py` is the protocol, `strategies/` are its methods, `editor.py`
the editors they wrap.
"""
