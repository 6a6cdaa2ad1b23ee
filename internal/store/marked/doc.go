// Package marked decides what a store does with the high-water mark outside of it (package highwater), in the same
// way for SQLite and PostgreSQL: what a batch uses up, which uses count although no commit records them, which
// events say so, and what a recovery is about. It reads and writes no database: its caller does, in the
// transaction that it has begun.
package marked
