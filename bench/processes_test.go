package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestHooksOfPeopleRefuse: a hook that is compared tells a command that it refuses from one that it lets run.
func TestHooksOfPeopleRefuse(t *testing.T) {
	all, err := commands(t.Context(), &yard{work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, c := range all {
		if c.missing != "" {
			t.Logf("%s: %s is missing", c.name, c.missing)
			continue
		}
		run++
		for input, want := range map[string]int{
			payload: 0,
			strings.Replace(payload, "go test ./leases", "rm -rf / && true", 1): 2,
		} {
			cmd := exec.CommandContext(t.Context(), c.args[0], c.args[1:]...)
			cmd.Stdin = strings.NewReader(input)
			err := cmd.Run()
			got, failed := 0, new(exec.ExitError)
			if errors.As(err, &failed) {
				got = failed.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%s: exit status %d, want %d", c.name, got, want)
			}
		}
	}
	if run < 4 { // Go is here, and a shell
		t.Errorf("only %d hooks were run", run)
	}
}
