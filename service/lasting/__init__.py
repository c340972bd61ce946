"""Whether the change of an edit lasts: later changes are put on, and each state is compared.

`lasting.py` is the file to read first.
"""
