// Package mcptools runs tools of MCP servers that the operator has declared: it is
// the only user of the MCP library. It decides which servers there are, which of
// their tools can be called, how long and how large an answer may be, and when a
// server that went away is started again.
//
// It never decides whether a call may run (the kernel has, before it gets here), and
// it gives a server nothing that was not named: no environment, no file descriptor
// but its standard streams, no answer to requests of its own (sampling, elicitation,
// roots), no redirect to another address.
package mcptools
