package peercred

import "strconv"

// Credential names a local user in approvals, leases and events.
func Credential(uid int) string { return "uid " + strconv.Itoa(uid) }
