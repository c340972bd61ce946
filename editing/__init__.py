"""Models in, answers and weight updates out. Importing this package imports no torch."""
