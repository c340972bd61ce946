"""Ground of all rooms: settings, errors, database, numbers as text, leases, the LLM client."""
