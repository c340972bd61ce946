"""Files of growth: published intermediate files replayed, graphs and runs exported."""
