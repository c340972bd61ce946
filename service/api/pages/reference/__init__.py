"""The API reference in the web UI: operations by subject, one operation, one schema."""
