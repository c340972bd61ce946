"""/v1/growth and /v1/crawls: runs that grow a graph from a model's answers, and their review."""
