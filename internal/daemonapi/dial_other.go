//go:build !unix

package daemonapi

import (
	"context"
	"net"
)

// dial connects to a unix socket, where the system has them.
func dial(ctx context.Context, path string) (Conn, error) {
	dialer := net.Dialer{Timeout: DialTime}
	return dialer.DialContext(ctx, "unix", path)
}
