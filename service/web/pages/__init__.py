"""The web UI: values of its templates, computed from the other rooms, and their routes."""
