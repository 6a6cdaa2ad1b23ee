//go:build linux

package sysinstall

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/belay-hooks/belay/internal/system"
)

// Removal is what takes an installation away, computed and not carried out.
type Removal struct {
	Steps []Step

	tree  *Tree
	purge bool
}

// PlanRemoval computes what is to be removed: what an installation wrote, and with purge the operator's
// files, the users, and the state with its log as well. The error is ErrUnsafe, or of the file system.
func (t *Tree) PlanRemoval(purge bool) (*Removal, error) {
	m, err := t.manifest()
	if err != nil {
		return nil, err
	}
	r := &Removal{tree: t, purge: purge}
	add := func(a Action, name, text string, it item) {
		r.Steps = append(r.Steps, Step{Action: a, Path: name, Text: text, item: it})
	}
	all := items(Policy{}, nil)
	for i := len(all) - 1; i >= 0; i-- { // system.yaml first, then what it needs
		it := all[i]
		f, err := t.look(it.path)
		if err != nil {
			return nil, err
		}
		switch {
		case !f.here || it.kind == sharedDir || it.kind == account || it.kind == ownDir:
		case it.kind == configFile && purge:
			add(Remove, it.path, "the operator's", it)
		case it.path == system.ConfigFile:
			add(Remove, it.path, "system mode ends; the file stays as "+setAside, it)
		case it.kind == configFile:
			add(Keep, it.path, "the operator's; --purge removes it", it)
		case it.kind == link && f.mode.Type() == fs.ModeSymlink:
			add(Remove, it.path, "no start with the machine", it)
		default:
			have, err := t.digest(it.path)
			if err != nil && !errors.Is(err, ErrUnsafe) {
				return nil, err
			}
			if err != nil || !m.wrote(it.path, have) {
				add(Keep, it.path, "not as an installation wrote it: remove it by hand", it)
				continue
			}
			add(Remove, it.path, "written by the installation", it)
		}
	}
	if f, err := t.look(system.StateDir); err != nil || f.here {
		if purge {
			add(Remove, system.StateDir, "every user's state, keys and log", item{kind: ownDir, path: system.StateDir})
		} else {
			add(Keep, system.StateDir, "state, keys and log; --purge removes them", item{kind: ownDir})
		}
		if err != nil {
			return nil, err
		}
	}
	if a, err := t.accounts(); err == nil && len(a) > 0 {
		if purge {
			add(Remove, "users", system.User+" and "+system.ToolsUser, item{kind: account})
		} else {
			add(Keep, "users", system.User+" and "+system.ToolsUser+", whom the state belongs to", item{kind: account})
		}
	}
	return r, nil
}

// Apply carries the removal out. What is gone by now is no error. units is nil where nothing runs.
func (r *Removal) Apply(ctx context.Context, units Units) error {
	t := r.tree
	unlock, err := t.begin()
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.recover(); err != nil {
		return err
	}
	fresh, err := t.PlanRemoval(r.purge) // what was seen before may have been half done
	if err != nil {
		return err
	}
	r.Steps = fresh.Steps
	if units != nil { // what still asks is blocked until system.yaml is gone
		if err := units.Stop(ctx); err != nil {
			return err
		}
	}
	for _, s := range r.Steps {
		if s.Action != Remove {
			continue
		}
		if err := r.remove(ctx, s); err != nil {
			return err
		}
	}
	if err := t.remove(ManifestFile, false); err != nil {
		return err
	}
	if units != nil {
		if err := units.Forget(ctx); err != nil {
			return err
		}
	}
	if t.Machine() {
		for _, name := range []string{"belay.sock", "frame.sock", path.Base(system.ToolsSocket)} {
			if err := t.remove(path.Join(system.RunDir, name), false); err != nil {
				return err
			}
		}
		_ = t.remove(system.RunDir, true) // what another program put there stays, and the directory with it
	}
	if r.purge {
		if err := t.remove(path.Join(system.ConfigDir, setAside), false); err != nil {
			return err
		}
	}
	if err := t.remove(lockFile, false); err != nil {
		return err
	}
	_ = t.remove(system.ConfigDir, true) // the same; what the operator keeps is there
	return nil
}

func (r *Removal) remove(ctx context.Context, s Step) error {
	switch {
	case s.item.kind == account:
		return r.tree.removeAccounts(ctx)
	case s.Path == system.StateDir:
		return r.tree.removeAll(s.Path)
	case s.Path == system.ConfigFile && !r.purge:
		return r.tree.move(s.Path, setAside, true)
	}
	return r.tree.remove(s.Path, false)
}
