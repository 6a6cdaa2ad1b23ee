// Package forward is the store of a kernel with a log of its own, in a local SQLite database, which shares leases
// and approvals with other kernels in PostgreSQL. Latches, runs and values of hooks are local. It decides how
// one batch is committed in two databases, how the log gets from the one to the other, and what goes on
// while PostgreSQL is away.
//
// # Who numbers
//
// The local database does. PostgreSQL has the beginning of the local log, byte by byte, and never more than one batch
// more. How far it has come is the size of the log there; here is only a hint of it, for the bound on what waits.
//
// # How a log is forwarded
//
// One goroutine (forwarder) reads leaves behind the size of the log there, makes them the next leaves of the tree
// there, and compares the peaks of that tree with the local one before it sends them. The function forward
// takes only what continues the log. What is there already has to be equal. So it does no harm to send twice:
//
//	it dies before or after it has sent            the size there says what is missing
//	the answer is lost                             likewise, after a new connection
//	another process forwards                       a fencing number shuts one of the two out
//	the log there is not a beginning of this one   the kernel is forked: see State
//
// Checkpoints follow the events that they are about.
//
// # How a batch is shared
//
// A batch with leases or approvals is decided by PostgreSQL, and its events have to be in both logs with the same
// number. It takes these steps. What a crash at the end of a step leaves, and who mends it:
//
//  1. The turn of the writer to PostgreSQL is taken, on a connection that answers, and all that the local
//     log has is forwarded. Nothing is left to mend.
//  2. Local: the intent is committed. It is the local part of the batch and the ids of its events. From here on no
//     other event gets a number, in any process. A crash leaves the intent; the next forwarder asks PostgreSQL, which
//     does not have the events, and ends the intent.
//  3. Local, in the writer's turn: a transaction with all local rows is prepared. A crash: as in step 2.
//  4. PostgreSQL: what came in between is forwarded. The rows that kernels share are locked, read, and the batch is
//     decided. A conflict undoes all, and ends the intent. A crash: as in step 2.
//  5. Local: the events are made, with the digest of the local rows (restrictions) and that of the shared ones
//     (shared). A crash: as in step 2.
//  6. PostgreSQL: rows and events are written and committed. A crash leaves an intent and the events in PostgreSQL. The
//     next forwarder finds both. It carries the intent out, with the events byte by byte, and compares the
//     digest in them with the local rows.
//  7. Local: the transaction is committed, and the intent ends with it.
//
// A use is therefore counted once, in PostgreSQL, and its event is in both logs or in none. If the answer of step 6 is
// lost, the caller waits until PostgreSQL says what it did: an answer that leaves it open is never given.
// Others are refused at once meanwhile. If the local commit fails after step 6, the events are taken over
// as after a crash.
//
// Events that PostgreSQL has and the local log lacks are taken over with an intent, or when the mark says that this
// machine has sent them: then the local database is an older copy. Else something else writes under the
// kernel's name: the kernel is forked.
//
// # While PostgreSQL is away
//
// The first call that fails opens a circuit. From then on nothing that needs the shared truth waits: it is
// ErrUnavailable at once. The forwarder tries to connect in the background and closes the circuit. Everything else goes
// on. What waits to be forwarded is bounded by Options.Keep; beyond that nothing is committed.
//
// # When PostgreSQL goes back
//
// A mark outside of both databases (package highwater) says how far the log was forwarded, what was seen of other
// kernels, and what was about to be used up: that is noted, and synced, before PostgreSQL commits. It is compared
// over each new connection. An event with a digest of shared rows is always in PostgreSQL first: if it is about to be
// forwarded, PostgreSQL has lost it. All of that is kernel.ErrRollback for what is shared, and nothing is sent: what
// is sent again would hide that something is gone. A person lets it go on; see Recover.
package forward
