// Package server answers HTTP on a unix socket and, where asked to, on a loopback
// address. It decides who may ask for what: by the uid of the peer, by tokens of
// three roles, by what a request looks like. It never decides about an action; a
// request that does not reach the kernel is answered with something that no caller
// can read as "go on".
//
// # Limits of authentication
//
// An agent runs with the person's uid. It can connect to the socket as the person
// can, and read whatever files the person's uid can read, tokens included. So the
// uid gives no more than the role invoke, and the tokens of the other roles may be
// moved out of the agent's reach: the daemon itself needs only their hashes.
package server
