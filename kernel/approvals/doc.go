// Package approvals is what a person decides: items of three kinds (a proposed
// hook, an ask, a request for a lease), the states that they pass through, and
// the signed decision that moves them. It decides which step is legal and whose
// signature counts. It never stores anything, never asks a person and never
// lets an action pass: stores keep the items in the transaction of the event
// that records the step, and the kernel reads them.
//
// States: pending → approved | denied | expired | superseded, approved → consumed |
// expired. Nothing comes back. Time running out is always a no.
package approvals
