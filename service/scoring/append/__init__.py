"""Requests to append an answer (PEAK, Ma et al. 2024): variants, probes, filter and metrics."""
