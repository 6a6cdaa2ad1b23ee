//go:build linux

package sysinstall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/system"
)

// Prefixes of files in ProgramDir while an upgrade is at work.
const (
	tryPrefix = ".belay-try."
	oldPrefix = ".belay-old."
)

// Upgrade replaces what differs from the plan. New programs are tried before they get their names. Where the
// daemon does not answer afterwards, all is put back as it was. units and answers are nil where nothing runs.
// Preconditions: Plan made p just now, and Manifest says that belay is installed.
func (p *Plan) Upgrade(ctx context.Context, units Units, answers func(context.Context) error) (err error) {
	t := p.tree
	unlock, err := t.lock(lockFile)
	if err != nil {
		return err
	}
	defer unlock()
	before := p.manifest
	next := Manifest{Version: manifestVersion, Program: p.options.Version, Files: maps.Clone(before.Files)}
	if next.Files == nil {
		next.Files = map[string]string{}
	}
	programs, others := p.split()
	defer func() { // what is no longer needed, or never was
		for _, name := range Programs() {
			for _, prefix := range []string{tryPrefix, oldPrefix} {
				err = errors.Join(err, t.remove(path.Join(ProgramDir, prefix+name), false))
			}
		}
	}()
	for _, s := range programs {
		if err := p.try(ctx, s); err != nil {
			return err
		}
	}
	var undo []func() error
	back := func(cause error) error {
		for _, f := range slices.Backward(undo) {
			cause = errors.Join(cause, f())
		}
		if units != nil {
			cause = errors.Join(cause, units.Restart(ctx))
		}
		return cause
	}
	for _, s := range programs {
		name, base := s.Path, path.Base(s.Path)
		old := path.Join(ProgramDir, oldPrefix+base)
		if s.Action == Replace {
			if err := errors.Join(t.remove(old, false), t.second(name, path.Base(old))); err != nil {
				return back(err)
			}
			undo = append(undo, func() error { return t.move(old, base, true) })
		} else {
			undo = append(undo, func() error { return t.remove(name, false) })
		}
		if err := t.move(path.Join(ProgramDir, tryPrefix+base), base, true); err != nil {
			return back(err)
		}
		if next.Files[name], err = t.digest(name); err != nil {
			return back(err)
		}
	}
	for _, s := range others {
		if s.Action == Replace {
			content, err := t.read(s.Path, 1<<20)
			if err != nil {
				return back(err)
			}
			undo = append(undo, func() error { return t.write(s.Path, strings.NewReader(string(content)), s.item.mode, true) })
		}
		if _, err := p.apply(ctx, s, &next); err != nil {
			return back(err)
		}
	}
	undo = append(undo, func() error { return t.writeManifest(before) })
	if err := t.writeManifest(next); err != nil {
		return back(err)
	}
	if units == nil {
		return nil
	}
	err = units.Restart(ctx)
	if err == nil && answers != nil {
		err = answers(ctx)
	}
	if err != nil {
		return back(&Error{Reason: "the new belay does not answer, and the one before is back: " + err.Error(),
			Advice: "journalctl -u " + Service + " says more.", Class: ErrSystem, Cause: err})
	}
	return nil
}

// split returns the steps that change programs, and the other ones that change something.
func (p *Plan) split() (programs, others []Step) {
	for _, s := range p.Steps {
		switch {
		case s.Action == Keep:
		case s.item.kind == program && s.Action != SetMode:
			programs = append(programs, s)
		default:
			others = append(others, s)
		}
	}
	return programs, others
}

// tryTime is how long a new program may take to say its version.
const tryTime = 10 * time.Second

// try copies a new program beside its place. That of the daemon has to say its version, as the daemon's user.
func (p *Plan) try(ctx context.Context, s Step) error {
	base := path.Base(s.Path)
	name := path.Join(ProgramDir, tryPrefix+base)
	f, err := files.Open(s.item.source)
	if err != nil {
		return err
	}
	if err := errors.Join(p.tree.write(name, f, s.item.mode, true), f.Close()); err != nil {
		return err
	}
	if base != Programs()[0] {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.tree.Outer(name), "--version")
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.WaitDelay = time.Second
	if a, ok := p.accounts[system.User]; ok && p.tree.owner == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}}
	}
	out, err := cmd.Output()
	if err == nil && !strings.HasPrefix(string(out), "belay ") {
		err = fmt.Errorf("it says %q", strings.TrimSpace(string(out[:min(len(out), 100)])))
	}
	if err != nil {
		return &Error{Path: s.item.source, Reason: "does not answer --version: " + err.Error(), Class: ErrSystem, Cause: err,
			Advice: "Nothing was changed. Is it built for this machine?"}
	}
	return nil
}

// Installed returns the version that is installed, and whether one is.
func (t *Tree) Installed() (version string, ok bool, err error) {
	m, err := t.manifest()
	return m.Program, m.Version != "", err
}
