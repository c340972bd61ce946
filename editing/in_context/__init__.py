"""In-context editing: demonstrations and the retrievers that choose them (IKE)."""
