// The named tokens of the services of this database, by name; not the tokens themselves.

MATCH (t:AccessToken)
// A token that is revoked during the read loses its properties one by one: read them at once.
WITH properties(t) AS t
WHERE none(each IN [t.id, t.role, t.digest, t.created_at] WHERE each IS NULL)
RETURN t.id AS name, t.role AS role, t.digest AS digest, t.created_at AS created_at
ORDER BY name
