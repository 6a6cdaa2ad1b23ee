// Package peercred asks the system who is at the other end of a unix socket, and who owns
// a file: for the daemon, which serves one user, and for its clients, which tell nothing to
// a process of another one. It never sends or reads a byte.
package peercred
