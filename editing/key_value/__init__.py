"""The MLP as key-value memory: keys k, values v*, subject positions, edited modules, neurons."""
