"""Establish-and-update knowledge sets (DepEdit): build, store, run the protocol, score."""
