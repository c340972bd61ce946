"""The REST client, and the session in one process: the same verbs."""
