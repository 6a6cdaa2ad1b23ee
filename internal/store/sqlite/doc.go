// Package sqlite is the embedded default store: one SQLite database that
// several processes may share. It decides how the contract of kernel.Store is
// kept on a disk, and it never acknowledges a batch before SQLite has synced it.
//
// # How a commit becomes durable
//
// The journal is a write-ahead log with synchronous=FULL, so that a commit is
// on the disk when SQLite says so. Each process has one writer: its goroutine
// takes the waiting batches, up to maxGroup, and writes them in one
// transaction (BEGIN IMMEDIATE), where need be with a savepoint for each batch, so that a batch
// that conflicts is undone alone and all batches share the cost of one sync. A caller that
// comes alone does the same with its batch, on its own goroutine.
// Sequence numbers are read inside that transaction; processes that share the
// file wait for each other there, at most busyTimeout.
//
// # After a failed write
//
// A sync that failed once tells nothing about what reached the disk, and
// trying it again may falsely succeed. So after any error of the disk the writer
// refuses everything until it has opened the database anew and moved the
// whole write-ahead log into the database file with a sync of its own.
//
// # Forms of an event
//
// A caller packs the events of its batch (package eventpack) before the transaction begins.
// The row of the last one holds the pack; see stored.go. What is asked for, and what is
// a leaf of the log, is the event as JSON, whichever way its row holds it.
//
// # Why the native interface and an own list of migrations
//
// The driver's native connections give prepared statements that stay with their
// connection, savepoints and checkpoints without a pool in between; the
// migration tools that we know want database/sql and would bring it in for a
// numbered list of a few statements (see migrate.go).
package sqlite
