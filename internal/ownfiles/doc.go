// Package ownfiles tells the daemon of a machine about files of the user of this process, and decides about which. It
// is the asking side of system mode: the daemon has a uid of its own and cannot look into a home. What it asks for is
// held against the question that is open. It gets what a command of that question runs, what the runtime that asks
// reads of its own, and the transcript that the payload names. It gets nothing else, whichever purpose it names.
//
// The rule does not trust the daemon, nor the links of a project. It trusts the payload: that is of this user's own
// agent, who can read the same files.
package ownfiles
