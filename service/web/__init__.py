"""REST and web UI: thin routes over the functions that the command line calls too. No torch."""
