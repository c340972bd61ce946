"""If-Then rules: stored, found, grounded and reviewed.

`store.py` keeps them, `mining.py` finds them in a graph, `instances.py` grounds them, `review.py`
asks people for their plausibility, `agreement.py` says how far those agree.
"""
