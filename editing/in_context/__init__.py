"""In-context editing (IKE): demonstrations and their retrievers."""
