"""The documentation as a test reads and runs it."""
