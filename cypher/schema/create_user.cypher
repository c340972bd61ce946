// Create a user of the server; the server itself routes this to its database `system`.
// In Community edition there are no roles: every user may read and write everything.
// params:
//   $name      STRING  how the user logs in
//   $password  STRING  at least 8 characters, need not be changed at the first login

CREATE USER $name SET PASSWORD $password CHANGE NOT REQUIRED
