package belay_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// A note of belay-hook, which does not have what covers names, holds a session as the
// runtime names it. Before the note is logged the name is redacted: by what looks like a
// secret, and by a secret that belay.yaml knows. The latch holds the session that it names.
func TestSessionsOfNotesAreCovered(t *testing.T) {
	shaped := "ghp_" + someChars(t, 36, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
	const known = "tulip-harbour-seventeen"
	t.Setenv("BELAY_TEST_KNOWN", known)
	for name, secret := range map[string]string{"by its form": shaped, "by belay.yaml": known} {
		t.Run(name, func(t *testing.T) {
			for how, running := range map[string]bool{"a daemon that runs": true, "the next to open": false} {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "belay.yaml"), guarded+"redact: {secrets: [\"env:BELAY_TEST_KNOWN\"]}\n")
				host := open(t, dir, belay.Options{})
				if !running {
					host.Close()
				}
				session := "s-" + secret
				n := notes.Of(phases.Invocation{Runtime: "custom", Session: session},
					phases.NewFault(phases.KindLoad, "refused "+secret, nil), true, time.Now())
				n.Cause = phases.LatchFailure
				if err := notes.Append(filepath.Join(dir, notes.SpoolName), n); err != nil {
					t.Fatal(err)
				}
				if !running {
					host = open(t, dir, belay.Options{})
				}
				inv := phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: session,
					Action: []byte(`{"tool":"exec","args":{"command":"ls"}}`)}
				if v, _ := host.Invoke(t.Context(), inv); v.Decision != phases.Block || v.Enforced != phases.EnforcedLatched {
					t.Errorf("%s: the session is not held: %+v", how, v)
				}
				latches, err := host.Latches(t.Context())
				if err != nil || len(latches) != 1 || strings.Contains(latches[0].Session+latches[0].Reason, secret) {
					t.Errorf("%s: %+v, %v", how, latches, err)
				}
				host.Close()
				for _, f := range traces(t, dir, secret) {
					t.Errorf("%s: %s", how, f)
				}
			}
		})
	}
}
