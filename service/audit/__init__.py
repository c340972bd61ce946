"""The audit of an erasure: a folder that shows, without a server, what a comparison found.

`bundle` collects the entries and writes the folder, `page` the HTML, `verify` finds what was
altered since, `signature` signs the seal. Nothing here imports torch, and `verify` needs neither a
database nor any package beside pydantic.
"""
