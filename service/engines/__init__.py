"""Engines: where jobs run. One dispatcher claims for all executors that an engine starts."""
