"""The hyperparameters of each built-in method, one file each. Imports no torch."""
