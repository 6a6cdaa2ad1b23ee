package redaction_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/redaction"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const known = "correct horse battery"

// directory is a state directory whose belay.yaml names a secret.
func directory(t *testing.T) string {
	t.Helper()
	t.Setenv("BELAY_TEST_SECRET", known)
	dir, err := statedir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Open(dir); err != nil {
		t.Fatal(err)
	}
	text := "version: belay/v1\nredact:\n  secrets: [\"env:BELAY_TEST_SECRET\"]\n"
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The redactor of a directory knows what its belay.yaml names; of a directory that was not
// set up there is none.
func TestOf(t *testing.T) {
	r, err := redaction.Of(directory(t))
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := r.Text(known); strings.Contains(out, known) {
		t.Errorf("the directory's redactor does not know the secret: %s", out)
	}
	if _, err := redaction.Of(t.TempDir()); !errors.Is(err, statedir.ErrUnusable) {
		t.Errorf("no directory: %v", err)
	}
}

// A refusal is redacted where a secret could stand, and is the same refusal otherwise.
func TestRefusal(t *testing.T) {
	r := kernel.Refusal{
		Invocation: phases.Invocation{Runtime: "r " + known, Session: "s " + known, Phase: phases.PreTool},
		Fault:      phases.NewFault(phases.KindProtocol, "refused "+known, nil), Unblockable: true,
	}
	got := redaction.Refusal(directory(t), r)
	all := got.Invocation.Runtime + got.Invocation.Session + got.Fault.Text
	if strings.Contains(all, known) || strings.Count(all, "[redacted:") != 3 {
		t.Errorf("%q", all)
	}
	if got.Fault.Kind != phases.KindProtocol || !got.Unblockable || got.Invocation.Phase != phases.PreTool {
		t.Errorf("%+v", got)
	}
	if r.Fault.Text != "refused "+known {
		t.Error("the caller's refusal was changed")
	}
	if got := redaction.Refusal(t.TempDir(), r); got.Invocation.Session != r.Invocation.Session {
		t.Errorf("no directory: %+v", got)
	}
	if got := redaction.Refusal(directory(t), kernel.Refusal{}); got.Fault != nil {
		t.Errorf("no fault: %+v", got)
	}
}

// The names of a refusal are those that the kernel would have: what only records redact stays in them.
func TestNamesOfARefusalAreTheKernels(t *testing.T) {
	dir := directory(t)
	text := "version: belay/v1\nredact:\n  recorded:\n    patterns: [{name: house, regex: 'house-[a-z]{8}', keywords: [house]}]\n"
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := redaction.Refusal(dir, kernel.Refusal{Invocation: phases.Invocation{Session: "house-abcdefgh"},
		Fault: phases.NewFault(phases.KindProtocol, "in house-abcdefgh", nil)})
	if got.Invocation.Session != "house-abcdefgh" || strings.Contains(got.Fault.Text, "abcdefgh") {
		t.Errorf("%q, %q", got.Invocation.Session, got.Fault.Text)
	}
}
