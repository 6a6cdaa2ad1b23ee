//go:build !unix

package daemonapi

import "net"

// Quiet cannot tell here: each question gets a connection of its own.
func Quiet(net.Conn) bool { return false }
