// Package sysinstall decides what an installation of system mode consists of: users,
// directories, programs, units and configuration. It compares that with what is there,
// computes a plan, and carries it out step by step. It also takes it away again, replaces
// the programs, and takes in a user's state directory.
//
// It runs as root, so every path is walked from the top, one component after the other and
// never through a link; each component belongs to root, who alone can write there. Thus no
// other user can lead a write elsewhere, before or meanwhile. What stands in the place of a
// file of belay's and is not belay's is refused, never replaced.
package sysinstall
