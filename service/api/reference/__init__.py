"""API reference: the OpenAPI document's descriptions and examples, and the web UI's `/docs`."""
