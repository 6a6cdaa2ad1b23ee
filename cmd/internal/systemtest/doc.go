// Package systemtest holds the tests of system mode as a whole: the real programs, real users and sockets, in a root
// directory and a mount namespace of their own. They run as root; `make demo-system` prints what they try. It decides
// nothing.
package systemtest
