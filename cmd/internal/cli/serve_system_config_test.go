package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/phases"
)

const orgConfig = `version: belay/v1
hooks:
  - {name: command-guard, module: "builtin:command-guard", capabilities: []}
reviewers:
  - {name: carol, key: "ed25519:O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik="}
  - {name: dave, key: "ed25519:zswVB9wd3XKVlRwpCIjwla25BE0bc9aW5t8GXWg71Pw="}
`

// Whose signature counts for a user follows system.yaml while the user's server is open, as belay.yaml does. The files
// of a user follow from before they are first read, so that no change is missed.
func TestReviewersFollowSystemConfig(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, config.FileName), []byte(orgConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{"carol", "dave"}
	m := &machine{places: system.Places{Config: root}, users: map[int]*userConfig{}}
	m.configs = &systemConfigs{at: time.Now(), config: new(system.Config), load: func() (*system.Config, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.users[1000] == nil {
			t.Error("system.yaml was read before the user's files follow it")
		}
		return &system.Config{Reviewers: map[string][]string{"1000": names}}, nil
	}}
	inForce := func() (out []string) {
		src, err := os.ReadFile(filepath.Join(dir, config.FileName))
		if err != nil {
			t.Fatal(err)
		}
		f, err := config.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range f.Reviewers {
			out = append(out, r.Name)
		}
		return out
	}
	if _, err := m.follow(1000, dir); err != nil {
		t.Fatal(err)
	}
	if got := inForce(); !slices.Equal(got, names) {
		t.Errorf("%v", got)
	}
	names = []string{"dave"}
	before := m.written()
	if err := os.WriteFile(filepath.Join(root, system.File), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m.written() == before {
		t.Error("a change of system.yaml is not seen")
	}
	if err := m.derive(); err != nil {
		t.Fatal(err)
	}
	if got := inForce(); !slices.Equal(got, names) {
		t.Errorf("%v, want %v", got, names)
	}
	if m.leave(1000); len(m.users) != 0 {
		t.Error("a user who left is still followed")
	}
}

// Root changes the organisation's files while a reviewer's approvals bind hooks for the user. Each of these stays
// bound.
func TestApprovalsWhileTheOrganisationsFileChanges(t *testing.T) {
	u, at := organisationFiles(t)
	if err := u.derive(); err != nil {
		t.Fatal(err)
	}
	const approvals = 40
	over := make(chan error, 1)
	go func() {
		for n := range approvals {
			if err := config.EditFile(u.dir, func(src []byte) ([]byte, error) {
				return config.AddBinding(src, config.Binding{Name: fmt.Sprint("approved-", n), Module: "builtin:command-guard",
					Capabilities: []string{},
					Phases:       []phases.Phase{phases.PreTool}})
			}); err != nil {
				over <- err
				return
			}
		}
		over <- nil
	}()
	for n := 0; ; n++ {
		text := fmt.Sprintf("version: belay/v1\nhooks: [{name: organisation-%d, module: \"builtin:command-guard\", capabilities: []}]\n", n)
		if err := errors.Join(os.WriteFile(at("belay.yaml"), []byte(text), 0o644), u.derive()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
		default:
			continue
		}
		break
	}
	f, _, err := config.Load(u.dir)
	if err != nil || len(f.Hooks) != approvals+1 {
		t.Errorf("%d hooks are bound, want %d: %v", len(f.Hooks), approvals+1, err)
	}
}

// Who accepts connections reads no file: system.yaml is looked at beside that, also while none of the files changes.
func TestAcceptingReadsNoFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{places: system.Places{Config: t.TempDir()}, users: map[int]*userConfig{}}
		accepting, late := false, 0
		m.configs = &systemConfigs{at: time.Now(), config: new(system.Config), load: func() (*system.Config, error) {
			if accepting {
				late++
			}
			return new(system.Config), nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		go m.watch(ctx)
		for range 10 {
			time.Sleep(followEvery)
			synctest.Wait()
			accepting = true
			if _, err := m.configs.now(); err != nil {
				t.Error(err)
			}
			accepting = false
		}
		stop()
		synctest.Wait()
		if late > 0 {
			t.Errorf("system.yaml was read %d times by who accepts", late)
		}
	})
}
