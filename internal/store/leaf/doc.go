// Package leaf makes the leaves of the log from events, for stores that keep them in a database: an event as JSON,
// with its number and, in the last one of a batch, the digest of the rows that restrict. An event is encoded
// by the caller who brings it; only the writer can give the number, which is therefore the first member.
package leaf
