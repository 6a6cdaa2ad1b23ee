//go:build linux

package sysinstall

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/system"
)

// Apply carries the plan out, step by step. Each step is whole or not done, and the plan may be made and
// applied again after an error. Notes say what is left to the machine's next start. Preconditions: the plan
// was just made.
func (p *Plan) Apply(ctx context.Context) (notes []string, err error) {
	m := Manifest{Version: manifestVersion, Program: p.options.Version, Files: map[string]string{}}
	maps.Copy(m.Files, p.manifest.Files)
	var unlock func()
	defer func() {
		if unlock != nil {
			unlock()
		}
	}()
	for _, s := range p.Steps {
		if s.Path == system.ConfigFile { // what was written is known before system mode is on
			if err := p.tree.writeManifest(m); err != nil {
				return notes, err
			}
		}
		note, err := p.apply(ctx, s, &m)
		if err != nil {
			return notes, err
		}
		if note != "" {
			notes = append(notes, note)
		}
		if s.Path == system.ConfigDir {
			if unlock, err = p.tree.lock(lockFile); err != nil {
				return notes, err
			}
		}
	}
	return notes, nil
}

func (p *Plan) apply(ctx context.Context, s Step, m *Manifest) (note string, err error) {
	it, t := s.item, p.tree
	if s.Action == SetMode {
		uid := t.owner
		if it.user != "" {
			uid = p.accounts[it.user].UID
		}
		if err := t.chmod(it.path, it.mode, uid); err != nil {
			return "", err
		}
	}
	switch it.kind {
	case ownFile, program:
		digest, err := p.put(s)
		if err == nil {
			m.Files[it.path] = digest
		}
		return "", err
	}
	switch s.Action {
	case Keep, SetMode:
		return "", nil
	case TakeUp:
		return "", t.move(path.Join(system.ConfigDir, setAside), path.Base(it.path), false)
	}
	switch it.kind {
	case account:
		note, err = t.makeAccounts(ctx)
		if err == nil {
			p.accounts, err = t.accounts()
		}
		return note, err
	case sharedDir, ownDir:
		uid, gid := t.owner, t.group()
		if it.user != "" {
			a, ok := p.accounts[it.user]
			if !ok {
				return it.path + " is made by systemd-tmpfiles when the machine starts", nil
			}
			uid, gid = a.UID, a.GID
		}
		return "", t.mkdir(it.path, it.mode, uid, gid)
	case link:
		return "", t.symlink(it.path, it.target)
	}
	return "", t.write(it.path, bytes.NewReader(it.content), it.mode, false)
}

// put writes a file of belay's where that is to be done, and returns its digest.
func (p *Plan) put(s Step) (string, error) {
	it, t := s.item, p.tree
	switch s.Action {
	case Keep, SetMode:
		return t.digest(it.path)
	}
	if it.kind == ownFile {
		err := t.write(it.path, bytes.NewReader(it.content), it.mode, s.Action == Replace)
		if err != nil {
			return "", err
		}
		return t.digest(it.path)
	}
	f, err := files.Open(it.source)
	if err != nil {
		return "", err
	}
	err = errors.Join(t.write(it.path, f, it.mode, s.Action == Replace), f.Close())
	if err != nil {
		return "", err
	}
	return t.digest(it.path)
}
