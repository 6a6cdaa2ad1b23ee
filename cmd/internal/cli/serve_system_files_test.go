package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/tiers"
)

// organisationFiles makes the organisation's files and a user who follows them.
func organisationFiles(t *testing.T) (*userConfig, func(name string) string) {
	t.Helper()
	p := system.Places{Config: filepath.Join(t.TempDir(), "etc"), State: filepath.Join(t.TempDir(), "state")}
	at := func(name string) string { return filepath.Join(p.Config, name) }
	u := &userConfig{dir: p.State, places: p, reviewers: func() ([]string, error) { return nil, nil }}
	if err := errors.Join(os.Mkdir(p.Config, 0o755), os.Mkdir(p.State, 0o700),
		os.WriteFile(at("belay.yaml"), []byte("version: belay/v1\nhooks: []\n"), 0o644),
		os.WriteFile(at(tiers.PolicyFile), []byte("version: belay-trust/v1\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return u, at
}

// A file of the organisation that others can write to, or that leads elsewhere, changes nothing for the users.
func TestOnlyRootWritesTheOrganisationsFiles(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"others write it": func(path string) error { return os.Chmod(path, 0o666) },
		"it is a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		},
	} {
		for _, file := range []string{"belay.yaml", tiers.PolicyFile} {
			u, at := organisationFiles(t)
			if err := u.derive(); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(u.dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(at(file), append(before, "# changed\n"...), 0o644),
				change(at(file))); err != nil {
				t.Fatal(err)
			}
			if err := u.derive(); !errors.Is(err, system.ErrUntrusted) || u.problem() == "" {
				t.Errorf("%s, %s: %v", file, name, err)
			}
			if now, err := os.ReadFile(filepath.Join(u.dir, file)); err != nil || string(now) != string(before) {
				t.Errorf("%s, %s: it counts: %s, %v", file, name, now, err)
			}
		}
	}
}

// While an editor has removed trust.yaml to make it anew, what it said holds: no denied hook comes back. When it stays
// away, it holds no more.
func TestTrustHoldsWhileItIsEdited(t *testing.T) {
	u, at := organisationFiles(t)
	if err := errors.Join(u.derive(), os.Remove(at(tiers.PolicyFile))); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(u.dir, tiers.PolicyFile)
	if err := u.derive(); err == nil || !strings.Contains(err.Error(), "has gone") {
		t.Errorf("just removed: %v", err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	u.gone = u.gone.Add(-goneFor - time.Second)
	if err := u.derive(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(theirs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
}

// A daemon that starts after trust.yaml was removed serves the user by what it said, says so, and looks again until it
// holds no more.
func TestAUserIsServedWhileTrustHasGone(t *testing.T) {
	u, at := organisationFiles(t)
	if err := errors.Join(u.derive(), os.Remove(at(tiers.PolicyFile))); err != nil {
		t.Fatal(err)
	}
	m := &machine{places: u.places, users: map[int]*userConfig{}, configs: &systemConfigs{
		load: func() (*system.Config, error) { return new(system.Config), nil }}}
	again, err := m.follow(1000, u.dir)
	if err != nil {
		t.Fatalf("the user is not served: %v", err)
	}
	theirs := filepath.Join(u.dir, tiers.PolicyFile)
	if _, err := os.Stat(theirs); err != nil || !m.troubled() || !strings.Contains(again.problem(), "has gone") {
		t.Errorf("%v, problem %q", err, again.problem())
	}
	again.gone = again.gone.Add(-goneFor - time.Second)
	if err := m.derive(); err != nil || m.troubled() {
		t.Errorf("%v, problem %q", err, again.problem())
	}
	if _, err := os.Stat(theirs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
}
