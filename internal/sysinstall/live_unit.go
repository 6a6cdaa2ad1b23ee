//go:build linux

package sysinstall

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"time"
)

// wallsOf returns the directives of a unit that take power away from its process, with their values.
func wallsOf(text []byte) map[string]string {
	out := map[string]string{}
	for line := range bytes.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(string(line)), "=")
		if !ok {
			continue
		}
		for _, prefix := range []string{"NoNewPrivileges", "Protect", "Private", "RestrictNamespaces", "RestrictRealtime",
			"RestrictSUIDSGID", "LockPersonality", "RemoveIPC", "KeyringMode", "User", "Group", "UMask"} {
			if strings.HasPrefix(key, prefix) {
				out[key] = value
			}
		}
	}
	return out
}

// unitRows asks systemd which walls of the unit are in force: a drop-in may have taken some away.
func unitRows(ctx context.Context) []Row {
	program, ok := find("systemctl")
	if !ok || !Booted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "show", Service)
	cmd.Env = []string{"LANG=C.UTF-8"}
	out, err := cmd.Output()
	if err != nil {
		return nil // a user who may not ask systemd; root may
	}
	return missingWalls(wallsOf(unit(Service)), out)
}

// missingWalls compares the walls with what systemd shows. What this version of systemd does not know is not shown.
func missingWalls(walls map[string]string, shown []byte) []Row {
	var gone []string
	for line := range bytes.Lines(shown) {
		key, value, _ := strings.Cut(strings.TrimRight(string(line), "\n"), "=")
		if want, ok := walls[key]; ok && value != want {
			gone = append(gone, key+"="+value+" (the unit says "+want+")")
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return []Row{{What: "drop-in", State: Bad, Text: "takes walls of " + Service + " away: " + strings.Join(gone, ", "),
		Advice: "systemctl cat " + Service + " shows where"}}
}
