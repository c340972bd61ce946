"""Gradient training of a few weights, within a bound, on given answers."""
