"""Tables, paired tests and figures of requests to append, from stored scores."""
