//go:build unix

package cli

import (
	"net"
	"strings"
	"syscall"
)

func restrictUmask() { syscall.Umask(0o077) }

// notifier returns a function that tells systemd how the daemon stands, if it was
// started by it: one datagram to the socket that $NOTIFY_SOCKET names. Whether it
// arrives is systemd's business.
func (a *App) notifier() func(state string) {
	path := a.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return func(string) {}
	}
	if strings.HasPrefix(path, "@") {
		path = "\x00" + path[1:]
	}
	return func(state string) {
		c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Write([]byte(state))
	}
}
