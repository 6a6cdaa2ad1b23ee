//go:build linux

package sysinstall

import (
	"context"
	"errors"
	"os"
)

// Units starts and stops what is installed.
type Units interface {
	Start(ctx context.Context) error   // the sockets; the first question starts the daemon
	Restart(ctx context.Context) error // the daemon, if it runs, with units as they are now
	Stop(ctx context.Context) error    // all of it
}

// Systemd is the units of the systemd that runs this machine.
type Systemd struct{}

// Booted reports whether systemd runs this machine.
func Booted() bool {
	fi, err := os.Lstat("/run/systemd/system")
	return err == nil && fi.IsDir()
}

// Start implements Units.
func (Systemd) Start(ctx context.Context) error {
	return errors.Join(systemctl(ctx, "daemon-reload"), systemctl(ctx, append([]string{"start"}, Sockets()...)...))
}

// Restart implements Units.
func (Systemd) Restart(ctx context.Context) error {
	return errors.Join(systemctl(ctx, "daemon-reload"), systemctl(ctx, "try-restart", Service))
}

// Stop implements Units. Units that are not there are no error.
func (Systemd) Stop(ctx context.Context) error {
	for _, unit := range append(Sockets(), Service) {
		if err := systemctl(ctx, "cat", unit); err != nil {
			continue // not known
		}
		if err := systemctl(ctx, "stop", unit); err != nil {
			return err
		}
	}
	return nil
}

func systemctl(ctx context.Context, args ...string) error {
	program, ok := find("systemctl")
	if !ok {
		return &Error{Reason: "there is no systemctl on this machine", Class: ErrSystem}
	}
	return run(ctx, program, args...)
}
