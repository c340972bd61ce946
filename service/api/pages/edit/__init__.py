"""Web UI of a scored edit: a first screen with the answer, and tabs with addresses of their own.

`view` holds shared values, `overview` the first screen, `leakage` the map on it, `listed` the
tabs with lists, `export` commands and provenance; `routes` binds them to addresses.
"""
