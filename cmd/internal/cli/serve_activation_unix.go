//go:build unix

package cli

import (
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// activationListeners returns the sockets that the process was started with. What it starts itself gets none of them.
func activationListeners() ([]net.Listener, error) { return activation.Listeners() }
