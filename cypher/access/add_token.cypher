// Keep a named token of the services of this database; a name that exists is left as it is.
// params:
//   $token   STRING                   name of the token, for people and logs
//   $role    STRING(read|post|admin)  what it permits
//   $digest  STRING                   SHA-256 of the token, in hexadecimal

MERGE (t:AccessToken {id: $token})
ON CREATE SET t.role = $role, t.digest = $digest, t.created_at = toString(datetime())
RETURN t.digest = $digest AS added
