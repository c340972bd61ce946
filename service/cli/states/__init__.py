"""Commands about states of a model: compare two of them, list what was compared."""
