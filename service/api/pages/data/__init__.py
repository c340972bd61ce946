"""Web UI of data sets: the list, and an upload with a preview of the import."""
