//go:build linux

package sysinstall

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
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
// Preconditions: Installed says that belay is installed. Postconditions: p is what was done.
func (p *Plan) Upgrade(ctx context.Context, units Units, answers func(context.Context) error) (err error) {
	unlock, err := p.begin()
	if err != nil {
		return err
	}
	defer unlock()
	u := &upgrade{plan: p, tree: p.tree, units: units}
	if err := u.replace(ctx); err != nil {
		return u.back(ctx, err)
	}
	if units != nil {
		u.told = true
		err := p.tell(ctx, units)
		if err == nil && answers != nil {
			err = answers(ctx)
		}
		if err != nil {
			return u.putBack(ctx, err, answers)
		}
	}
	if err := p.commit(u.next); err != nil {
		return u.back(ctx, err)
	}
	return p.tree.recover() // what is no longer needed
}

// upgrade is one that is at work.
type upgrade struct {
	plan  *Plan
	tree  *Tree
	units Units
	next  Manifest
	told  bool // the units are those of the new belay
	undo  []func() error
}

// replace tries the programs, and puts each file in its place. What stood there keeps a second name.
func (u *upgrade) replace(ctx context.Context) (err error) {
	p, t := u.plan, u.tree
	programs, others := p.split()
	for _, s := range programs {
		if err := p.try(ctx, s); err != nil {
			return err
		}
	}
	if u.next, err = p.announce(); err != nil {
		return err
	}
	for _, s := range programs {
		if err := u.keep(s); err != nil {
			return err
		}
		base := path.Base(s.Path)
		if err := t.move(path.Join(ProgramDir, tryPrefix+base), base, true); err != nil {
			return err
		}
		if u.next.Files[s.Path], err = t.digest(s.Path); err != nil {
			return err
		}
	}
	for _, s := range others {
		if err := u.keep(s); err != nil {
			return err
		}
		if _, err := p.apply(ctx, s, &u.next); err != nil {
			return err
		}
	}
	return nil
}

// keep gives what a step replaces a second name, and says how the step is undone.
func (u *upgrade) keep(s Step) error {
	t, base := u.tree, path.Base(s.Path)
	old := path.Join(path.Dir(s.Path), oldPrefix+base)
	switch kind := s.item.kind; {
	case s.Action == Replace:
		if err := errors.Join(t.remove(old, false), t.second(s.Path, path.Base(old))); err != nil {
			return err
		}
		u.undo = append(u.undo, func() error { return t.move(old, base, true) })
	case s.Action == Make && (kind == ownFile || kind == program || kind == link || kind == configFile):
		u.undo = append(u.undo, func() error { return t.remove(s.Path, false) })
	}
	return nil
}

// putBack puts everything back since the daemon does not answer, and says what became of that.
func (u *upgrade) putBack(ctx context.Context, cause error, answers func(context.Context) error) error {
	e := &Error{Reason: "the new belay does not answer: " + because(cause, u.units.Why(ctx)), Class: ErrSystem,
		Cause: cause, Advice: "The one before is back. journalctl -u " + Service + " says more."}
	err := u.back(ctx, nil)
	if err == nil && answers != nil {
		err = answers(context.WithoutCancel(ctx))
	}
	if err != nil {
		e.Advice = "The one before could not be put back as it was: " + because(err, u.units.Why(ctx)) +
			". Run the upgrade again from programs that work; agents may be blocked until then."
	}
	return e
}

// because is an error with what the daemon said.
func because(err error, says string) string {
	if says == "" {
		return err.Error()
	}
	return err.Error() + "; it says: " + says
}

// back puts everything back as it was before the upgrade, also where ctx has ended.
func (u *upgrade) back(ctx context.Context, cause error) error {
	ctx, t := context.WithoutCancel(ctx), u.tree
	sockets, _ := u.plan.affects()
	if sockets = sockets || u.plan.makesSockets(); u.told && sockets { // while systemd still finds them
		cause = errors.Join(cause, u.units.Stop(ctx))
	}
	undone := true
	for _, f := range slices.Backward(u.undo) {
		if err := f(); err != nil {
			cause, undone = errors.Join(cause, err), false
		}
	}
	if undone { // otherwise the next command goes on from here
		before := u.plan.manifest
		if before.Pending != nil && t.holds(before.Files) {
			before.Pending = nil
		}
		if u.next.Version != "" {
			cause = errors.Join(cause, t.writeManifest(before))
		}
		cause = errors.Join(cause, t.recover())
	}
	if u.told {
		cause = errors.Join(cause, u.units.Restart(ctx), u.units.Start(ctx))
	}
	return cause
}

// holds reports whether the files have those digests.
func (t *Tree) holds(files map[string]string) bool {
	for name, want := range files {
		if have, err := t.digest(name); err != nil || have != want {
			return false
		}
	}
	return true
}

// makesSockets reports whether the plan brings sockets that were not there.
func (p *Plan) makesSockets() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Action == Make && slices.Contains(allSockets(), path.Base(s.Path))
	})
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
	if base != Programs()[0] || !p.tree.Machine() && foreign(s.item.source) { // for an image of another processor
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

// foreign reports whether a program is for another processor than this one.
func foreign(program string) bool {
	f, err := elf.Open(program)
	if err != nil {
		return false
	}
	defer f.Close() // only read
	own, err := elf.Open("/proc/self/exe")
	if err != nil {
		return false
	}
	defer own.Close() // the same
	return f.Machine != own.Machine
}

// Installed returns the version that is installed, and whether one is.
func (t *Tree) Installed() (version string, ok bool, err error) {
	m, err := t.manifest()
	return m.Program, m.Program != "", err
}
