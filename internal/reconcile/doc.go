// Package reconcile compares the calls that a runtime's own log of a session tells of with the verdicts
// that belay has logged for them. It decides which calls have no verdict, which verdicts no call, and
// which calls have other arguments than belay decided.
//
// It detects, and proves nothing: an agent that can write its own log can make it agree. A record that
// it cannot read makes the result unknown, never good. It writes nothing and changes no decision.
package reconcile
