"""Pages of experiments: sweeps with their matrix, one fact by all methods, paired differences."""
