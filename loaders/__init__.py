"""Readers of data files: a path in, frozen records out. No network, no database.

`records.py` defines the records, `sources.py` reads files into Python values, and `assembly.py`
merges facts into one graph. Every module with `recognises(path)` and `load(path)` is a format; the
module's name is the format's key, and `formats.py` discovers them. `graphs/` and `rules/` contain
the graphs and rules that ship with the package.
"""
