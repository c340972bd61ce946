"""The page: what its templates show, drawn from the functions of `service`; no web framework here.

`service/api/pages/routes.py` has the routes. Templates get plain values and never ask the database.
"""
