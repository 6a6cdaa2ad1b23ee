// Package machinelog has what belongs to no user's log become an event of the daemon of system mode: callers that it
// refuses, users who are served or held, the machine's system.yaml, and the daemon itself.
//
// Nothing that callers wait for waits for it. It decides nothing.
package machinelog
