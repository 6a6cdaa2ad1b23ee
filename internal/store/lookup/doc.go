// Package lookup says in which events of a block a value stands, one row for each value of a block. A query
// reads the rows of its values, block by block, and then only events in which all of them stand: it does not
// matter how often each value is there by itself. Stores that keep their events in a database keep these rows
// beside them.
//
// Blocks are made from events that are already stored, so that a commit writes nothing for them; what is not in a
// block yet is searched without one. A row never decides that an event matches: the event itself does. The
// package reads and writes no store.
package lookup
