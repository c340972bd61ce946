"""Files in, records out. No network, no database.

`records.py` holds the nouns; `sources.py` opens files and `assembly.py` makes one graph of what
they say; every module with a `recognises(path)` and a `load(path)` is a format, and its name is
the format's key. `formats.py` finds them. `graphs/` holds the graphs that ship with the package.
"""
