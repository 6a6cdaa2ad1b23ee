// Package toolpins knows which definitions of the tools of MCP servers are accepted: those that
// belay saw first, those that a person has accepted since, and those that belay.yaml pins. It
// decides which tools are held back because their definition is another one, asks a person
// about that, and takes the answer over.
//
// It never speaks to a server (internal/mcptools does), and it decides nothing about a call
// beyond that: the chain of hooks has let it pass before.
package toolpins
