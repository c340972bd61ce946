// Let a user read everything and change nothing; routed to the database `system`.
// `reader` is a role that Enterprise edition brings; Community edition refuses the command.
// params:
//   $name  STRING  the user

GRANT ROLE reader TO $name
