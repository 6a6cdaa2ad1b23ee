package peercred

import "strconv"

// Credential names a local user in approvals, leases and on record.
func Credential(uid int) string { return "uid " + strconv.Itoa(uid) }
