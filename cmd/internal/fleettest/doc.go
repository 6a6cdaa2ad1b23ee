// Package fleettest holds the tests of many kernels on one database as a whole: the real program, three daemons, and a
// real PostgreSQL. `make demo-fleet` prints what they try. It decides nothing.
package fleettest
