//go:build linux

package sysinstall

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/system"
)

// Options say what to install.
type Options struct {
	Version  string            // of this program
	Programs map[string]string // path of each of Programs()
	Policy   Policy
}

// Action is what a step does.
type Action string

// Actions of steps.
const (
	Make    Action = "make"
	Replace Action = "replace"
	SetMode Action = "set mode"
	Keep    Action = "keep" // it is as it should be, or the operator's
	Remove  Action = "remove"
	TakeUp  Action = "take up" // the system.yaml of an installation before
)

// Step is one step of a plan.
type Step struct {
	Action Action `json:"action"`
	Path   string `json:"path"`
	Text   string `json:"text"`

	item item
	done bool // before the plan was made
}

// Plan is an installation, computed and not carried out.
type Plan struct {
	Steps []Step

	tree     *Tree
	options  Options
	manifest Manifest
	accounts map[string]Account
}

// Plan compares the tree with an installation. The error is Refused where something stands in the way.
func (t *Tree) Plan(o Options) (*Plan, error) {
	p := &Plan{tree: t, options: o}
	var refused Refused
	refuse := func(err error) error {
		if e := (*Error)(nil); errors.As(err, &e) {
			refused = append(refused, e)
			return nil
		}
		return err
	}
	var err error
	if p.manifest, err = t.manifest(); err != nil {
		if err = refuse(err); err != nil {
			return nil, err
		}
	}
	if err := t.tellTest("plan", ManifestFile); err != nil {
		return nil, err
	}
	if p.accounts, err = t.accounts(); err != nil {
		if err = refuse(err); err != nil {
			return nil, err
		}
	}
	for _, it := range items(o.Policy, o.Programs) {
		if it.live && !t.Machine() {
			continue
		}
		s, err := p.step(it)
		if err != nil {
			if err = refuse(err); err != nil {
				return nil, err
			}
			continue
		}
		p.Steps = append(p.Steps, s)
	}
	if len(refused) > 0 {
		if now, err := t.manifest(); err == nil && !now.equal(p.manifest) { // files of one time, the record of another
			return nil, busy()
		}
		return nil, slices.CompactFunc(refused, func(a, b *Error) bool { return a.Error() == b.Error() })
	}
	return p, nil
}

// Changes reports whether there is anything to do, also where a command before was stopped in the middle.
func (p *Plan) Changes() bool {
	return p.manifest.unfinished() || slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Action != Keep })
}

// step compares one item with what is there.
func (p *Plan) step(it item) (Step, error) {
	s := Step{Action: Keep, Path: it.path, Text: it.describe(), item: it}
	if it.kind == account {
		if len(p.accounts) < 2 {
			s.Action = Make
		}
		return s, nil
	}
	if it.kind == program {
		if err := files.Check(it.source); err != nil {
			return s, &Error{Path: it.source, Reason: "cannot be installed: " + err.Error(), Class: ErrSystem, Cause: err,
				Advice: "Build belay, belay-hook and belay-eval into one directory; --programs names another."}
		}
		if err := p.tree.runs(it.source); err != nil {
			return s, err
		}
	}
	f, err := p.tree.look(it.path)
	if err != nil {
		return s, err
	}
	if !f.here {
		s.Action = Make
		if it.path == system.ConfigFile {
			if old, err := p.tree.look(system.ConfigDir + "/" + setAside); err != nil || old.here {
				s.Action, s.Text = TakeUp, s.Text+", as "+setAside+" has it"
				return s, err
			}
		}
		return s, nil
	}
	if err := p.fits(it, f); err != nil {
		return s, err
	}
	switch it.kind {
	case sharedDir:
		return s, nil
	case ownDir:
	case link:
		target, err := p.tree.readlink(it.path)
		if err == nil && target != it.target {
			err = unsafe(it.path, "leads to "+target, "Look at it, and move it away.")
		}
		return s, err
	case configFile:
		if err := p.valid(it); err != nil {
			return s, err
		}
	case ownFile, program:
		same, err := p.same(it)
		if err != nil {
			return s, err
		}
		if !same {
			s.Action = Replace
			return s, p.ours(it)
		}
	}
	if f.mode.Perm() != it.mode {
		s.Action = SetMode
		s.Text += fmt.Sprintf(", was %04o", f.mode.Perm())
	}
	return s, nil
}

// fits refuses what is of another kind than the item, another user's, or open to others.
func (p *Plan) fits(it item, f found) error {
	want := fs.FileMode(0)
	switch it.kind {
	case sharedDir, ownDir:
		want = fs.ModeDir
	case link:
		want = fs.ModeSymlink
	}
	if f.mode.Type() != want {
		return unsafe(it.path, "is "+kindOf(f.mode)+"; belay expects "+kindOf(want)+" of its own there",
			"Look at it, and move it away: mv "+it.path+" "+it.path+".away")
	}
	owner := p.tree.owner
	if it.user != "" {
		a, ok := p.accounts[it.user]
		if owner = a.UID; !ok {
			return unsafe(it.path, "is there, and user "+it.user+" is not",
				"Make the user again, or move the directory away.")
		}
	}
	if f.uid != owner {
		return unsafe(it.path, fmt.Sprintf("belongs to uid %d, and must belong to %s", f.uid, it.owner()),
			"Look at it, and move it away: mv "+it.path+" "+it.path+".away")
	}
	if f.mode.Perm()&writable != 0 && it.kind != link {
		return unsafe(it.path, fmt.Sprintf("can be written by others (%04o)", f.mode.Perm()),
			"Look at what it holds, then: chmod go-w "+it.path)
	}
	return nil
}

// same reports whether a file holds what it should.
func (p *Plan) same(it item) (bool, error) {
	if it.kind == ownFile {
		have, err := p.tree.read(it.path, 1<<20)
		return bytes.Equal(have, it.content), err
	}
	have, err := p.tree.digest(it.path)
	if err != nil {
		return false, err
	}
	want, err := it.digest()
	return have == want, err
}

// ours refuses a file that an installation did not write.
func (p *Plan) ours(it item) error {
	have, err := p.tree.digest(it.path)
	if err != nil {
		return err
	}
	if p.manifest.wrote(it.path, have) {
		return nil
	}
	if it.kind == program && p.isProgram(it.path) {
		return nil
	}
	advice := "Look at it, and move it away: mv " + it.path + " " + it.path + ".away"
	if it.kind == ownFile {
		advice += "; changes of units belong in a drop-in (systemctl edit)"
	}
	return unsafe(it.path, "was not written by an installation of belay, or was changed since", advice)
}

// isProgram reports whether a file was built of belay's own module.
func (p *Plan) isProgram(name string) bool {
	f, err := p.tree.open(name)
	if err != nil {
		return false
	}
	defer f.Close() // only read
	info, err := buildinfo.Read(f)
	return err == nil && info.Main.Path == "github.com/belay-hooks/belay"
}

// valid refuses a system.yaml that could not be used.
func (p *Plan) valid(it item) error {
	src, err := p.tree.read(it.path, 1<<20)
	if err != nil || it.path != system.ConfigFile {
		return err
	}
	if _, err := system.Parse(src); err != nil {
		return &Error{Reason: err.Error(), Class: ErrSystem, Cause: err,
			Advice: "Mend it, or move it away: every question of this machine's agents is blocked by it."}
	}
	return nil
}

func (it item) owner() string {
	if it.user == "" {
		return "root"
	}
	return it.user
}

// describe says what an item is.
func (it item) describe() string {
	switch it.kind {
	case sharedDir, ownDir:
		return fmt.Sprintf("directory of %s, %04o", it.owner(), it.mode)
	case program:
		return "program, from " + it.source
	case configFile:
		return "the operator's, " + fmt.Sprintf("%04o", it.mode)
	case link:
		return "starts " + it.target + " with the machine"
	case account:
		return "users " + system.User + " and " + system.ToolsUser + ", without login"
	}
	return fmt.Sprintf("file of root, %04o", it.mode)
}

func kindOf(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a link"
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// Beside returns the programs that lie in a directory, for Options.
func Beside(dir string) map[string]string {
	out := map[string]string{}
	for _, name := range Programs() {
		out[name] = strings.TrimSuffix(dir, string(os.PathSeparator)) + "/" + name
	}
	return out
}
