//go:build unix

package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// A belay-hook that another account could replace is red; the group of the person alone is no other account.
func TestProgramsThatOthersCanReplace(t *testing.T) {
	for name, c := range map[string]struct {
		level connect.Level
		spoil func(dir, program string) error
		want  string // "": nothing
		how   connect.Severity
	}{
		"one's own": {connect.User, func(string, string) error { return nil }, "", ""},
		"everybody's program": {connect.User, func(_, p string) error { return os.Chmod(p, 0o757) }, "every account",
			connect.Fail},
		"everybody's directory": {connect.User, func(d, _ string) error { return os.Chmod(d, 0o777) }, "every account",
			connect.Fail},
		"a directory like /tmp": {connect.User, func(d, _ string) error { return os.Chmod(d, 0o777|os.ModeSticky) }, "", ""},
		"a link to everybody's": {connect.User, func(d, p string) error {
			open := filepath.Join(d, "open")
			if err := os.Mkdir(open, 0o755); err != nil {
				return err
			}
			if err := os.Chmod(open, 0o777); err != nil {
				return err
			}
			if err := os.Rename(p, filepath.Join(open, "belay-hook")); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(open, "belay-hook"), p)
		}, "every account", connect.Fail},
		"not there": {connect.User, func(_, p string) error { return os.Remove(p) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "belay-hook")
			must(t, os.WriteFile(program, nil, 0o755))
			must(t, c.spoil(dir, program))
			p := place()
			p.Root = ""
			for _, runtime := range connect.Runtimes() {
				found := connect.Danger(runtime, c.level, p, connect.Hook{Program: program}, disk{}.read)
				switch {
				case c.want == "" && len(found) == 0:
				case c.want == "" || len(found) != 1 || !strings.Contains(found[0].Text, c.want) || found[0].Severity != c.how:
					t.Errorf("%s: %+v, want %q", runtime, found, c.want)
				}
			}
		})
	}
}
