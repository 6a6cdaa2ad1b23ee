// Package sandboxtest puts tests where hooks run in another way than usually: in a process
// whose memory may not be made executable. It never runs a hook.
package sandboxtest
