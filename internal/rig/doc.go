// Package rig opens kernels that decide about nothing that happens: for suites, replays,
// fuzz runs and the conformance kit. It decides that such a kernel has no deadlines, runs
// one turn after the other, and has a clock and ids that are the same every time.
//
// It never decides the answer to a hostcall, and never gives a kernel a port to the world.
package rig
