// Package lines decides what of a program's standard error is worth a line in a log: complete
// lines, so many of them, without values of the program's own environment.
package lines
