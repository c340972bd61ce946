"""Gradient training of a few weights: which, within what bound, on which answers."""
