//go:build linux

package sysinstall

import (
	"bytes"
	"context"
	"errors"
	"path"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/system"
)

// Apply carries the plan out, step by step, and has systemd take it up. Each step is whole or not done, and the plan
// may be made and applied again after an error. Notes say what is left to the machine's next start. units is nil
// where nothing is to run. Postconditions: p is what was done.
func (p *Plan) Apply(ctx context.Context, units Units) (notes []string, err error) {
	unlock, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err := p.announce()
	if err != nil {
		return nil, err
	}
	for _, s := range p.Steps {
		note, err := p.apply(ctx, s, &m)
		if err != nil {
			return notes, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	if err := p.tell(ctx, units); err != nil {
		return notes, err
	}
	if !p.tree.Machine() {
		notes = append(notes, p.tree.imageNotes()...)
	}
	return notes, p.commit(m)
}

func (p *Plan) apply(ctx context.Context, s Step, m *Manifest) (note string, err error) {
	it, t := s.item, p.tree
	if s.done {
		return "", nil
	}
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

// digest is that of what the item is going to hold.
func (it item) digest() (string, error) {
	if it.kind == ownFile {
		return digestOf(bytes.NewReader(it.content))
	}
	f, err := files.Open(it.source)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read
	return digestOf(f)
}
