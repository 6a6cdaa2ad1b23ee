// Package postgres is the store for many kernels: one PostgreSQL database with one set of leases,
// approvals, values, runs and latches for all of them, and a log and a tree for each. It decides how the
// contract of kernel.Store is kept there; PostgreSQL decides who is first.
//
// # What is shared and what is not
//
// A schema of the database is one organisation. Rows that restrict belong to the organisation. Events, hashes and
// checkpoints belong to one kernel, by its number in the table kernels; its numbers of events have no gaps.
//
// # One process for each kernel
//
// A process that opens the store takes the kernel's name and gets a fencing number (function hold). Every
// function that writes looks at the number in the transaction that writes. Another process is refused while
// the first one renews its hold; a process that has lost the name cannot write any more, even while it
// believes that it holds the name.
//
// # How a batch is decided
//
// A store has one writer and one connection that writes. It takes the batches that wait and writes them in one
// transaction. There are two ways.
//
// Batches that change no row that restricts go by one statement, the function append: it writes the events
// if the rows that restrict are still of the version that the writer knows. The writer knows the digest of
// every row (restrict.Set), so that it knows without a look that no latch holds a session. If the version
// has moved, the writer reads what others have changed and tries again.
//
// Batches that change such rows, or rest on versions of values, take the lock of the row shared first. From
// then on no other kernel changes these rows. In the same round trip the writer reads the rows that the
// batches name, and compares each with its digest. It decides in memory, with the tables that say what an
// approvals.Op and a leases.Op mean. What changes is written by statements that hold only for the row as it
// was read; one that changes no row undoes the transaction. A batch that conflicts was decided before
// anything was written, and leaves the others alone. There is one lock and it comes first, so that kernels
// cannot wait for each other in a circle.
//
// While a group of the first kind is on its way to the disk, the writer numbers and hashes the next one, and sends it
// behind the first when about half of the callers are in it; see stream.go. It holds only for the log that the first
// one leaves. What was sent or made ready behind a group that failed is made anew.
//
// # A commit whose answer is lost
//
// When the connection breaks while a transaction may have been committed, the writer connects anew and
// takes the name again. That waits for what the old connection may still be doing, and shuts it out. Then
// the size of the log and its last row of the tree say whether the events are there. Callers wait for that;
// they are never told a guess.
package postgres
