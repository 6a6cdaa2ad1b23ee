//go:build linux

package sysinstall

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/system"
)

// begin keeps other commands out until unlock, takes back what a stopped upgrade left, and plans anew: what the plan
// saw before may have been another command's half-done work.
func (p *Plan) begin() (unlock func(), err error) {
	var made []string
	for _, s := range p.Steps {
		if s.Action == Make && (s.Path == "/etc" || s.Path == system.ConfigDir) {
			made = append(made, s.Path)
		}
	}
	if unlock, err = p.tree.begin(); err != nil {
		return nil, err
	}
	fresh, err := p.again()
	if err != nil {
		unlock()
		return nil, err
	}
	for i, s := range fresh.Steps {
		if slices.Contains(made, s.Path) && s.Action == Keep {
			fresh.Steps[i].Action, fresh.Steps[i].done = Make, true
		}
	}
	*p = *fresh
	return unlock, nil
}

// begin keeps other commands out until unlock. The lock lies in a directory that it makes where it is missing: a
// removal without a lock could take away that of an installation.
func (t *Tree) begin() (unlock func(), err error) {
	for _, dir := range []string{"/etc", system.ConfigDir} {
		if err := t.mkdir(dir, 0o755, t.owner, t.group()); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	unlock, err = t.lock(lockFile)
	if errors.Is(err, fs.ErrNotExist) { // a removal took the directory away by now
		return nil, busy()
	}
	return unlock, err
}

func (p *Plan) again() (*Plan, error) {
	if err := p.tree.recover(); err != nil {
		return nil, err
	}
	return p.tree.Plan(p.options)
}

// recover takes back what an upgrade did that was stopped in the middle, and removes what a stopped command left beside
// its files. Preconditions: the lock is held.
func (t *Tree) recover() error {
	m, err := t.manifest()
	if err != nil {
		return err
	}
	for _, it := range items(Policy{}, nil) {
		if it.kind != ownFile && it.kind != program {
			continue
		}
		dir, base := path.Split(it.path)
		old := dir + oldPrefix + base
		f, err := t.look(old)
		if err != nil {
			return err
		}
		if f.here && f.mode.IsRegular() && f.uid == t.owner && m.Pending != nil {
			if err := t.move(old, base, true); err != nil {
				return err
			}
		}
		// A move onto another name of the same file does nothing.
		if err := errors.Join(t.remove(old, false), t.remove(dir+tryPrefix+base, false)); err != nil {
			return err
		}
	}
	return t.sweep()
}

// sweep removes files that were being written when a command was stopped.
func (t *Tree) sweep() error {
	var bases []string
	for _, it := range items(Policy{}, nil) {
		bases = append(bases, path.Base(it.path), tryPrefix+path.Base(it.path))
	}
	bases = append(bases, path.Base(ManifestFile))
	swept := map[string]bool{}
	for _, it := range items(Policy{}, nil) {
		dir := path.Dir(it.path)
		if it.kind == account || it.live || swept[dir] {
			continue
		}
		swept[dir] = true
		names, err := t.list(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			rest, ok := strings.CutPrefix(name, newPrefix)
			if i := strings.LastIndexByte(rest, '.'); !ok || i < 0 || !slices.Contains(bases, rest[:i]) {
				continue
			}
			err := t.remove(path.Join(dir, name), false)
			if errors.Is(err, unix.EISDIR) {
				err = t.remove(path.Join(dir, name), true)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// announce writes down what is going to be written, before it is: the next command knows it for belay's then.
func (p *Plan) announce() (Manifest, error) {
	m := Manifest{Version: manifestVersion, Program: p.manifest.Program, Files: map[string]string{},
		Pending: map[string]string{}}
	for name, digest := range p.manifest.Files {
		m.Files[name] = digest
	}
	if !p.Changes() {
		return m, nil
	}
	for name, digest := range p.manifest.Pending {
		m.Pending[name] = digest
	}
	for _, s := range p.Steps {
		if s.Action != Make && s.Action != Replace || s.item.kind != ownFile && s.item.kind != program {
			continue
		}
		digest, err := s.item.digest()
		if err != nil {
			return m, err
		}
		m.Pending[s.Path] = digest
	}
	return m, p.tree.writeManifest(m)
}

// commit writes down what is there now, and that nothing is left to do.
func (p *Plan) commit(m Manifest) error {
	if !p.Changes() && m.Program == p.options.Version {
		return nil
	}
	m.Program, m.Pending = p.options.Version, nil
	return p.tree.writeManifest(m)
}

// tell has systemd take up what has changed. Sockets that changed are opened anew; otherwise they stay open, and
// questions wait there while the daemon starts.
func (p *Plan) tell(ctx context.Context, units Units) error {
	if units == nil {
		return nil
	}
	var err error
	switch sockets, daemon := p.affects(); {
	case sockets:
		err = units.Stop(ctx)
	case daemon:
		err = units.Restart(ctx)
	}
	return errors.Join(err, units.Start(ctx))
}

// affects reports whether open sockets, or a daemon that runs, are of before.
func (p *Plan) affects() (sockets, daemon bool) {
	sockets = p.manifest.unfinished()
	for _, s := range p.Steps {
		if s.Action != Replace {
			continue
		}
		daemon = true
		sockets = sockets || slices.Contains(allSockets(), path.Base(s.Path))
	}
	return sockets, daemon
}
