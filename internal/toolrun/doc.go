// Package toolrun runs MCP servers for the daemon of system mode, under a user of their own. It
// decides which program is started: the one that root's belay.yaml names, never one that a
// connection names. It decides who may ask for that: the daemon's user. And it decides what a
// server gets: its three streams, the variables that its entry lists, a directory for temporary
// files, and what internal/confine leaves it of the file system.
//
// One connection is one server for one user. When either of them ends, so does the other, with
// every process that the server has started.
//
// It never reads what server and daemon say to each other, and knows no key.
package toolrun
