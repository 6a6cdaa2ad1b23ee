package sysinstall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// image is an empty directory to install into, of the user who runs the test.
func image(t *testing.T) *Tree {
	t.Helper()
	temp := t.TempDir()
	dir := filepath.Join(temp, "image")
	// The daemon's user starts a program there.
	if err := errors.Join(os.Chmod(filepath.Dir(temp), 0o755), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	tree, err := openTree(dir, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// needsRoot skips a test that makes files of other users.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users: run the tests as root for this one")
	}
	if _, ok := find("systemd-sysusers"); !ok {
		t.Skip("systemd-sysusers is missing: scripts/setup installs it")
	}
}

// options are programs that say their version, and a policy.
func options(t *testing.T, version string) Options {
	t.Helper()
	dir := t.TempDir()
	for _, name := range Programs() {
		put(t, filepath.Join(dir, name), "#!/bin/sh\necho belay "+version+"\n", 0o755)
	}
	return policy(Options{Version: version, Programs: Beside(dir)})
}

// policy gives options a configuration.
func policy(o Options) Options {
	o.Policy = Policy{System: []byte("version: belay-system/v1\n"), Belay: []byte("version: belay/v1\n"),
		Trust: []byte("version: belay/v1\n")}
	return o
}

func put(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// install installs, and returns the notes.
func install(t *testing.T, tree *Tree, o Options) []string {
	t.Helper()
	p, err := tree.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	notes, err := p.Apply(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

// faults are the rows that are not good.
func faults(tree *Tree) string {
	rows, _ := tree.Status()
	var out []string
	for _, r := range rows {
		if r.State != Good {
			out = append(out, fmt.Sprintf("%s %s: %s; %s", r.State, r.What, r.Text, r.Advice))
		}
	}
	return strings.Join(out, "\n")
}

// recorded is units that write down what they are told.
type recorded struct {
	told []string
	fail error
}

func (r *recorded) tell(what string) error { r.told = append(r.told, what); return r.fail }

func (r *recorded) Start(context.Context) error   { return r.tell("start") }
func (r *recorded) Restart(context.Context) error { return r.tell("restart") }
func (r *recorded) Stop(context.Context) error    { return r.tell("stop") }
func (r *recorded) Forget(context.Context) error  { return r.tell("forget") }
func (r *recorded) Why(context.Context) string    { return "no memory" }
