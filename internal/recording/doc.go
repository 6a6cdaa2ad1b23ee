// Package recording decides the form of a recording: a file that holds invocations
// with everything that they were decided from, so that they can be run again. It
// writes and reads the format belay-recording/v1, strictly and within limits, and
// seals it with age.
//
// A recording holds originals, secrets included. This package never redacts, never
// chooses a place for a file, and never runs anything. The digests in a recording
// find damage and cut-off files; they do not say who made it.
package recording
