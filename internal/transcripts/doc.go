// Package transcripts reads the logs that agent runtimes keep of their own sessions, as far as they tell
// of calls of tools. It decides which calls a log tells of, which of its records are unknown, and what a
// log was like when it was read before.
//
// It never decides whether a call was right, and proves nothing: an agent can rewrite its own log. A
// log is text of others. No record makes a reader fail: one that a reader does not know is counted.
package transcripts
