// Package report decides what a comparison of hooks looks like on paper: as JSON, as
// one page of HTML, and as JUnit XML. The same recordings and the same candidate give
// the same bytes on every machine and on every day: nothing in a report says when or
// where it was made.
//
// Recordings hold originals; a report does not. Secrets in it are covered like those
// in events, with placeholders that only somebody who has the recordings can test
// guesses against.
package report
