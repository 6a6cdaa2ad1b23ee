package sysinstall

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/system"
)

// leftovers are files of an upgrade that has ended.
func leftovers(t *testing.T, tree *Tree) string {
	t.Helper()
	entries, err := os.ReadDir(tree.Outer(ProgramDir))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return strings.Join(out, " ")
}

func TestUpgrade(t *testing.T) {
	needsRoot(t)
	tree := image(t)
	install(t, tree, options(t, "v1.0.0"))
	p, err := tree.Plan(options(t, "v2.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	units := &recorded{}
	if err := p.Upgrade(context.Background(), units, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if text := faults(tree) + leftovers(t, tree); text != "" {
		t.Error(text)
	}
	if v, _, err := tree.Installed(); v != "v2.0.0" || err != nil || strings.Join(units.told, " ") != "restart start" {
		t.Errorf("%s, %v, %v", v, units.told, err)
	}
	for _, name := range Programs() {
		if !strings.Contains(read(t, tree.Outer(ProgramDir+"/"+name)), "v2.0.0") {
			t.Errorf("%s is not replaced", name)
		}
	}
}

// A program that does not say its version takes no place; a daemon that does not answer has all put back.
func TestUpgradeRollsBack(t *testing.T) {
	needsRoot(t)
	mark := t.TempDir() + "/was-here" // only root can write there
	silent := errors.New("connection refused")
	for name, c := range map[string]struct {
		program string // of the new belay
		answers error
		told    string
		says    string
	}{
		"crashes":          {"#!/bin/sh\nexit 1\n", nil, "", "does not answer --version"},
		"another program":  {"#!/bin/sh\necho hello\n", nil, "", `says "hello"`},
		"another machine":  {"\x7fELF and nothing", nil, "", "Is it built for this machine?"},
		"no daemon":        {"#!/bin/sh\necho belay v2.0.0\n", silent, "restart start restart start", "no memory"},
		"runs as root":     {"#!/bin/sh\n[ $(id -u) != 0 ] && exit 1\necho belay v2.0.0\n", nil, "", "does not answer"},
		"writes elsewhere": {"#!/bin/sh\necho x > " + mark + " && echo belay v2.0.0\n", nil, "", "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := image(t)
			install(t, tree, options(t, "v1.0.0"))
			o := options(t, "v2.0.0")
			put(t, o.Programs["belay"], c.program, 0o755)
			p, err := tree.Plan(o)
			if err != nil {
				t.Fatal(err)
			}
			units := &recorded{}
			err = p.Upgrade(context.Background(), units, func(context.Context) error { return c.answers })
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(e.Error()+e.Advice, c.says) {
				t.Errorf("upgraded: %v", err)
			}
			if got := strings.Join(units.told, " "); got != c.told {
				t.Errorf("units were told %q", got)
			}
			if text := faults(tree) + leftovers(t, tree); text != "" {
				t.Error(text)
			}
			for _, name := range Programs() {
				if !strings.Contains(read(t, tree.Outer(ProgramDir+"/"+name)), "v1.0.0") {
					t.Errorf("%s is not the one before", name)
				}
			}
			if v, _, err := tree.Installed(); v != "v1.0.0" || err != nil {
				t.Errorf("%s, %v", v, err)
			}
			if _, err := os.Lstat(mark); err == nil {
				t.Error("the program was tried as root")
			}
		})
	}
}

func TestRemoval(t *testing.T) {
	needsRoot(t)
	tree := image(t)
	o := options(t, "v1.0.0")
	install(t, tree, o)
	put(t, tree.Outer(system.StateDir+"/users/1000/belay.db"), "log", 0o600)
	put(t, tree.Outer(system.ConfigFile), "version: belay-system/v1\ncontact: us\n", 0o644)
	put(t, tree.Outer(unitDir+"/belay.service"), "changed by the operator", 0o644)
	outside := t.TempDir() + "/outside"
	put(t, outside, "untouched", 0o600)

	remove := func(purge bool) {
		t.Helper()
		r, err := tree.PlanRemoval(purge)
		if err != nil {
			t.Fatal(err)
		}
		units := &recorded{}
		if err := r.Apply(context.Background(), units); err != nil || strings.Join(units.told, " ") != "stop forget" {
			t.Fatal(units.told, err)
		}
	}
	remove(false)
	for _, name := range []string{system.StateDir + "/users/1000/belay.db", system.ConfigDir + "/belay.yaml",
		system.ConfigDir + "/" + setAside, unitDir + "/belay.service"} {
		if _, err := os.Lstat(tree.Outer(name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	for _, name := range []string{system.ConfigFile, ManifestFile, "/usr/local/bin/belay", "/usr/local/bin/belay-hook",
		unitDir + "/belay.socket", wantsDir + "/belay.socket", tmpfilesFile} {
		if _, err := os.Lstat(tree.Outer(name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	remove(false) // again: nothing to do

	if err := os.Remove(tree.Outer(unitDir + "/belay.service")); err != nil {
		t.Fatal(err)
	}
	install(t, tree, o)
	if got := read(t, tree.Outer(system.ConfigFile)); !strings.Contains(got, "contact: us") {
		t.Errorf("system.yaml was not taken up: %s", got)
	}
	if err := os.Symlink(outside, tree.Outer(system.StateDir+"/users/1000/link")); err != nil {
		t.Fatal(err)
	}
	remove(true)
	for _, name := range []string{system.StateDir, system.ConfigDir} {
		if _, err := os.Lstat(tree.Outer(name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if read(t, outside) != "untouched" {
		t.Error("a link out of the state was followed")
	}
	if a, err := tree.accounts(); len(a) != 0 || err != nil {
		t.Errorf("users are left: %v, %v", a, err)
	}
}
