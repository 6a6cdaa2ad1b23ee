// Package activity decides which numbers a report of a week has: decisions over time, how asks were answered, how
// long hooks took and how much fuel. It reads recorded events only, and only those of the time asked for.
package activity
