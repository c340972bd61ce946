// Let a user read everything and change nothing; routed to the database `system`.
//
// `reader` is a role that Enterprise edition brings; Community edition refuses the command.
//
// mode: write
// params:
//   $name   STRING   the user
// returns: nothing

GRANT ROLE reader TO $name
