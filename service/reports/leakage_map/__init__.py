"""The leakage map: the chains of an edit from subject to old object, one layout for all surfaces.

`layout` gives columns and heights, `routing` the lines between them, `drawing` every place in the
units of an SVG; `svg` writes it for the web UI, `service.reports.figures` as a figure.
"""
