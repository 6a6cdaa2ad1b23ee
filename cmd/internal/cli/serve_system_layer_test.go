package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/internal/system"
)

const oneHook = "version: belay/v1\nhooks:\n- {name: NAME, module: builtin:command-guard, phases: [pre_tool], capabilities: " +
	"[block, request_approval, shell_parse, pattern_match], config: {rules: {push: ask}}}\n"

// layered is a user's directory below an organisation's.
func layered(t *testing.T) (u *userConfig, write func(name string)) {
	t.Helper()
	u = &userConfig{dir: t.TempDir(), places: system.Places{Config: t.TempDir()},
		reviewers: func() ([]string, error) { return nil, nil }}
	write = func(name string) {
		t.Helper()
		path := filepath.Join(u.places.Config, config.FileName)
		if err := os.WriteFile(path, []byte(strings.Replace(oneHook, "NAME", name, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return u, write
}

func inForce(t *testing.T, u *userConfig) string {
	t.Helper()
	f, _, err := config.Load(u.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range f.Hooks {
		names = append(names, b.Name)
	}
	return strings.Join(names, " ")
}

// A change of the organisation's files is in force also where a user's layer does not fit under it: the layer is left
// out, with a reason. It is back when it fits again.
func TestOrganisationNeverWaits(t *testing.T) {
	u, write := layered(t)
	write("guard")
	if err := u.derive(); err != nil {
		t.Fatal(err)
	}
	if _, err := u.setLayer(t.Context(), []byte(strings.Replace(oneHook, "NAME", "user-x", 1))); err != nil {
		t.Fatal(err)
	}
	if got := inForce(t, u); got != "guard user-x" {
		t.Errorf("with a layer: %s", got)
	}
	write("user-x")
	if err := u.derive(); err != nil {
		t.Errorf("the user's layer keeps the organisation's file away: %v", err)
	}
	if got := inForce(t, u); got != "user-x" || !strings.Contains(u.layerProblem(), "is bound already") {
		t.Errorf("a name that both have: %s; %q", got, u.layerProblem())
	}
	write("other")
	if err := u.derive(); err != nil || inForce(t, u) != "other user-x" || u.layerProblem() != "" {
		t.Errorf("it fits again: %s, %v, %q", inForce(t, u), err, u.layerProblem())
	}
}

// A layer that is refused changes no file, and undo brings back the one before.
func TestLayersAreTakenWhole(t *testing.T) {
	u, write := layered(t)
	write("guard")
	if err := u.derive(); err != nil {
		t.Fatal(err)
	}
	first := []byte(strings.Replace(oneHook, "NAME", "user-x", 1))
	if _, err := u.setLayer(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]string{
		"options that the hook does not take": strings.Replace(oneHook, "push: ask", "push: sometimes", 1),
		"a hook that is not installed": strings.Replace(oneHook, "builtin:command-guard",
			"'sha256:"+strings.Repeat("a", 64)+"'", 1),
		"a hook that lacks a capability": strings.Replace(oneHook, "shell_parse, ", "", 1),
		"reviewers":                      "version: belay/v1\napprovals: {quota: 1000}\n",
	} {
		if _, err := u.setLayer(t.Context(), []byte(strings.Replace(src, "NAME", "user-y", 1))); err == nil {
			t.Errorf("%s: taken", name)
		}
		kept, err := os.ReadFile(filepath.Join(u.dir, layers.UserName))
		if err != nil || string(kept) != string(first) || inForce(t, u) != "guard user-x" {
			t.Errorf("%s: %q is in force, %v", name, inForce(t, u), err)
		}
	}
	undo, err := u.setLayer(t.Context(), nil)
	if err != nil || inForce(t, u) != "guard" {
		t.Fatalf("removed: %s, %v", inForce(t, u), err)
	}
	if err := undo(); err != nil || inForce(t, u) != "guard user-x" {
		t.Errorf("undone: %s, %v", inForce(t, u), err)
	}
}

// While the files of one user are derived, however long that takes, others come and go, and are looked after.
func TestOneUsersFilesKeepNoOtherWaiting(t *testing.T) {
	u, _ := layered(t)
	m := &machine{users: map[int]*userConfig{1000: u}}
	u.mu.Lock()
	defer u.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if m.troubled() || u.problem() != "" || u.layerProblem() != "" {
			t.Error("there is no problem")
		}
		m.leave(1001)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("another user waits for the one whose files are being derived")
	}
}

// A layer is examined beside what the organisation changes. One that does not fit any more when it is taken is refused.
func TestALayerThatWasOvertaken(t *testing.T) {
	u, write := layered(t)
	write("guard")
	if err := u.derive(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	u.reviewers = func() ([]string, error) {
		if looks++; looks == 2 {
			write("user-x")
		}
		return nil, nil
	}
	_, err := u.setLayer(t.Context(), []byte(strings.Replace(oneHook, "NAME", "user-x", 1)))
	if err == nil || !strings.Contains(err.Error(), "is bound already") {
		t.Errorf("taken: %v", err)
	}
	if _, err := os.Stat(filepath.Join(u.dir, layers.UserName)); err == nil || inForce(t, u) != "user-x" ||
		u.layerProblem() != "" {
		t.Errorf("%v, %s, %q", err, inForce(t, u), u.layerProblem())
	}
}
