// Package front decides which user's server gets a connection in system mode: the one of the uid that the system names
// for the peer. Users share no session, log, latch, lease or item, since each has a server and a state directory of
// its own; and no bound, since each server counts for itself.
//
// It never reads a byte of a connection that it hands on, and decides nothing about actions.
package front
