"""Shapes that several rooms share: requests, scores, experiments, as every interface shows them."""
