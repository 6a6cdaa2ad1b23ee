// Package notes decides how processes of a state directory leave each other notes beside
// the store: of an action that was blocked without a record, and of the wall clock, so that
// a later process records a block, and tells a jump of the clock once. It never reports
// anything by itself: that is the kernel's.
package notes
