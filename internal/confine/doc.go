// Package confine decides what the daemon of system mode can reach: its process, and every
// process that it starts, gets the rights of Landlock to the files named here and to no
// others. It says what the kernel holds, and writes that down for status and doctor.
//
// Landlock comes on top of the daemon's user and of systemd's filters. A kernel without it
// is no error: the report says so.
package confine
