// Package report decides the form of a comparison of hooks: as JSON, as one page of HTML,
// and as JUnit XML. The same recordings and the same candidate give the same bytes on every
// machine and on every day: a report never says when or where it was made.
//
// Recordings hold originals; a report does not. Secrets in it are redacted like those in
// events. To test a guess against a placeholder takes the recordings.
package report
