"""Files in, records out. No network, no database.

`records.py` holds the nouns; every other module reads one file format and offers `load(path)`.
The module's name is the format's key.
"""
