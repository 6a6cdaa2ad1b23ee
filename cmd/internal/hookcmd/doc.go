// Package hookcmd decides how a command that an agent runtime starts for each of
// its events reads the payload, asks the daemon, and gives the runtime its own form
// of answer: what `belay eval --runtime` and the small program belay-hook have in
// common. Whatever goes wrong comes out as that runtime's way of saying no.
//
// It decides about no action itself, never opens a state directory, and links
// nothing that a process which lives for some milliseconds would have to wait for.
package hookcmd
