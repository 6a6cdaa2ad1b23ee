//go:build !unix

package cli

import "net"

// activationListeners finds none: no program hands over sockets here.
func activationListeners() ([]net.Listener, error) { return nil, nil }
