"""Web UI: a graph written or changed as tables, checked by row, saved as YAML or stored."""
