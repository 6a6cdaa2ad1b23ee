//go:build !unix

package daemonapi

import (
	"context"
	"net"
	"time"
)

// dial connects to a unix socket, where the system has them.
func dial(ctx context.Context, path string, _ time.Duration) (Conn, error) {
	dialer := net.Dialer{Timeout: DialTime}
	return dialer.DialContext(ctx, "unix", path)
}
