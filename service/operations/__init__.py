"""The operations of the product, a file a room; commands, routes and client methods follow."""
