// Package retention keeps full inputs where belay.yaml says so (recordings:), and finds
// the kept originals of stored events again. It decides when a file begins and ends,
// what is removed when there is too much, what becomes of what cannot be kept, and
// whether an original belongs to an event.
//
// It decides nothing about actions, never chooses what is kept, and never opens what
// is sealed: who can is not here. Files are recordings (internal/recording), written
// under a name of their own until they are whole:
//
//	kept-20261122T054320.123Z-1f67e2291204aabb.rec.age    whole; .rec in plain text
//	….part                                                being written; locked as long as its process lives
//	….cut                                                 its process ended, or the disk failed, before its end
package retention
