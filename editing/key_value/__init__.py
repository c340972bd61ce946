"""The MLP as key-value memory: keys k, values v*, positions, sites (ROME and MEMIT)."""
