// Package eventpack packs the stored forms of events that are committed together, and unpacks
// them byte for byte. It decides how few bytes a store needs for them, and never what an event
// says: the leaves of the log are the events as they were before.
//
// A pack is one block of S2 with a dictionary of the members and values that events have in
// common; digests in it are bytes. The dictionary is a fixed text. A pack names it by its number,
// so that another one gets another number, and packs of earlier dictionaries stay readable.
//
// What stands in a database may have been put there by another program. Open refuses a block of
// another length than the pack says, with anything behind it, or longer than MaxBytes, before it takes
// memory for it.
package eventpack
