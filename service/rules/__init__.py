"""If-Then rules of a graph, their instantiations and conclusions (DepEdit §3.1).

`store.py` and `add.py` store rules, `mining.py` finds them in triangles of facts, `groundings.py`
instantiates them, `review.py` collects labels. `closure.py` derives conclusions, `proofs.py` their
proof trees; `omega.py` and `mixed_chains.py` find ways that recover the old object;
`implications.py` and `summary.py` compare the conclusions before and after edits.
"""
