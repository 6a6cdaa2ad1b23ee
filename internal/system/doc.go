// Package system decides whether this machine has belay in system mode: a daemon with a
// user of its own, whose files no agent can reach. It reads /etc/belay/system.yaml strictly,
// and only where root alone can have written it. It knows where the parts of system mode
// are, and who may ask.
//
// No flag and no environment variable moves these places. It never writes, and it decides
// nothing about actions.
package system
