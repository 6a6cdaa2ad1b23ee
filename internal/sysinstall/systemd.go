//go:build linux

package sysinstall

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"time"
)

// Units starts and stops what is installed.
type Units interface {
	Start(ctx context.Context) error   // the sockets that are there; the first question starts the daemon
	Restart(ctx context.Context) error // the daemon, if it runs, with units as they are now
	Stop(ctx context.Context) error    // all of it
	Forget(ctx context.Context) error  // units whose files are gone
	Why(ctx context.Context) string    // the last thing that the daemon said about its end; "" if that cannot be told
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
	if err := systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	for _, unit := range allSockets() {
		if !known(ctx, unit) {
			continue
		}
		if err := systemctl(ctx, "start", unit); err != nil {
			return err
		}
	}
	return nil
}

// Restart implements Units.
func (Systemd) Restart(ctx context.Context) error {
	if err := systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	return systemctl(ctx, "try-restart", Service)
}

// Stop implements Units. Units that are not there are no error.
func (Systemd) Stop(ctx context.Context) error {
	for _, unit := range append(allSockets(), Service, ToolsSlice) { // the slice ends every server
		if !known(ctx, unit) {
			continue
		}
		if err := systemctl(ctx, "stop", unit); err != nil {
			return err
		}
	}
	return nil
}

// Forget implements Units.
func (Systemd) Forget(ctx context.Context) error {
	err := systemctl(ctx, "daemon-reload")
	for _, unit := range append(allSockets(), Service) {
		_ = systemctl(ctx, "reset-failed", unit) // one that has not failed is not known any more
	}
	return err
}

// Why implements Units.
func (Systemd) Why(ctx context.Context) string {
	program, ok := find("journalctl")
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--unit", Service, "--identifier", "belay", "--lines", "20", "--output",
		"cat", "--no-pager", "--quiet")
	cmd.Env = []string{"LANG=C.UTF-8"}
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return lastWord(out)
}

// lastWord returns the last error that the daemon printed.
func lastWord(journal []byte) (last string) {
	for line := range bytes.Lines(journal) {
		text, ok := bytes.CutPrefix(line, []byte("belay: "))
		if !ok {
			continue
		}
		last = string(bytes.TrimSpace(text[:min(len(text), 300)]))
		if bytes.HasPrefix(text, []byte("serving ")) || bytes.HasPrefix(text, []byte("stopped")) { // no end
			last = ""
		}
	}
	return last
}

// known reports whether there is a file of a unit.
func known(ctx context.Context, unit string) bool { return systemctl(ctx, "cat", unit) == nil }

func systemctl(ctx context.Context, args ...string) error {
	program, ok := find("systemctl")
	if !ok {
		return &Error{Reason: "there is no systemctl on this machine", Class: ErrSystem}
	}
	return run(ctx, program, args...)
}
