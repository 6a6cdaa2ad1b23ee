// Package files decides how belay handles files by their names. It reads: a pipe that no
// process writes, a device, a directory or a file that grows makes no reader wait and fills
// no memory. It writes what users ask for, such as reports and modules: a file is complete
// or not there. It says where a path leads, so that a file that must not be in a directory
// does not get there by another name.
//
// It knows nothing about what files say, and never decides what may be read or written. It
// takes no lock: package statedir writes what a state directory holds.
package files
