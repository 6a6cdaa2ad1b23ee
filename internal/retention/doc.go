// Package retention retains full inputs where belay.yaml says so (recordings:), and finds
// the retained originals of stored events again. It decides when a file begins and ends,
// which files are removed when there are too many, and whether an original belongs to an
// event. It counts and reports the inputs that it loses. A Switch uses the recorder that
// belay.yaml asks for as long as it does, and logs that retention began, changed or ended.
//
// It decides nothing about actions, never chooses which inputs are retained, and never
// opens a sealed file: it does not have the key. Files are recordings (internal/recording),
// written under a name of their own until they are complete:
//
//	kept-20261122T054320.123Z-1f67e2291204aabb.rec.age    complete; .rec in plain text
//	….part                                                being written; locked as long as its process lives
//	….cut                                                 its process ended, or the disk failed, before its end
package retention
