//go:build !unix

package toolrun

import "github.com/belay-hooks/belay/internal/daemonapi"

// endInput ends the connection: system mode is for Linux.
func endInput(conn daemonapi.Conn) { _ = conn.Close() }
