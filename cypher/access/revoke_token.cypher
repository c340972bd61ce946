// Revoke a named token.
// params:
//   $token STRING  name of the token

MATCH (t:AccessToken {id: $token})
DETACH DELETE t
RETURN count(t) AS revoked
