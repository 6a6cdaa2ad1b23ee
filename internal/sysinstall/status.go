//go:build linux

package sysinstall

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/belay-hooks/belay/internal/system"
)

// State says how one row of a status stands.
type State string

// States.
const (
	Good State = "ok"
	Warn State = "warn" // not as it should be, or not to be seen by this user
	Bad  State = "fail"
)

// Row is one thing of an installation, as it is.
type Row struct {
	What   string `json:"what"`
	State  State  `json:"state"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitzero"` // the command that mends it
}

// reinstall is what makes anew what is missing.
const reinstall = "sudo belay system install"

// Status compares each part of an installation with what is there. Installed is false where none is.
func (t *Tree) Status() (rows []Row, installed bool) {
	m, err := t.manifest()
	if err != nil {
		rows = append(rows, rowOf("installation", err))
	}
	mode, err := t.look(system.ConfigFile)
	if err != nil {
		rows = append(rows, rowOf(system.ConfigFile, err))
	}
	if m.Version == "" && !mode.here && len(rows) == 0 {
		return []Row{{What: "installation", State: Warn, Text: "none: this machine is not in system mode",
			Advice: reinstall}}, false
	}
	switch {
	case m.unfinished():
		rows = append(rows, Row{What: "installation", State: Bad, Text: "a command of belay system is at work, or was stopped in the middle", Advice: reinstall})
	case m.Version != "":
		rows = append(rows, Row{What: "installation", State: Good, Text: "belay " + m.Program})
	}
	p := &Plan{tree: t, manifest: m}
	if p.accounts, err = t.accounts(); err != nil {
		rows = append(rows, rowOf("users", err))
	}
	for _, it := range items(Policy{}, nil) {
		switch {
		case it.live && !t.Machine(), it.kind == sharedDir:
		case it.kind == account && err != nil: // said
		case it.kind == account:
			rows = append(rows, t.accountRow(p.accounts))
		default:
			rows = append(rows, p.row(it))
		}
	}
	return rows, true
}

func (t *Tree) accountRow(have map[string]Account) Row {
	var parts []string
	for _, name := range []string{system.User, system.ToolsUser} {
		a, ok := have[name]
		if !ok {
			if !t.Machine() {
				return Row{What: "users", State: Warn, Text: "user " + name + " is made at the image's first start"}
			}
			return Row{What: "users", State: Bad, Text: "there is no user " + name, Advice: reinstall}
		}
		parts = append(parts, fmt.Sprintf("%s (uid %d)", name, a.UID))
	}
	return Row{What: "users", State: Good, Text: strings.Join(parts, ", ")}
}

// row compares one item with what is there.
func (p *Plan) row(it item) Row {
	f, err := p.tree.look(it.path)
	if err == nil && !f.here {
		if it.user != "" && !p.tree.Machine() && len(p.accounts) == 0 {
			return Row{What: it.path, State: Warn, Text: "is made at the image's first start"}
		}
		return Row{What: it.path, State: Bad, Text: "is missing", Advice: reinstall}
	}
	if err == nil {
		err = p.fits(it, f)
	}
	if err == nil && it.kind == configFile {
		err = p.valid(it)
	}
	if err != nil {
		return rowOf(it.path, err)
	}
	ok := Row{What: it.path, State: Good, Text: fmt.Sprintf("%s, %04o", it.owner(), f.mode.Perm())}
	switch it.kind {
	case link:
		target, err := p.tree.readlink(it.path)
		if err != nil || target != it.target {
			return Row{What: it.path, State: Bad, Text: "leads to " + target, Advice: "Remove it, then: " + reinstall}
		}
		ok.Text = "starts with the machine"
		return ok
	case ownFile, program:
		have, err := p.tree.digest(it.path)
		if err != nil {
			return rowOf(it.path, err)
		}
		if !p.manifest.wrote(it.path, have) {
			return Row{What: it.path, State: Bad, Text: "is not what the installation wrote",
				Advice: "Look at it, move it away, then: " + reinstall}
		}
	}
	if f.mode.Perm() != it.mode {
		return Row{What: it.path, State: Bad, Text: fmt.Sprintf("has mode %04o, and must have %04o", f.mode.Perm(), it.mode),
			Advice: fmt.Sprintf("chmod %04o %s", it.mode, it.path)}
	}
	return ok
}

// rowOf is a red row about an error; one that this user may not see is yellow.
func rowOf(what string, err error) Row {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return Row{What: what, State: Warn, Text: "only root can look at it", Advice: "sudo belay system status"}
	}
	r := Row{What: what, State: Bad, Text: err.Error()}
	if e := (*Error)(nil); errors.As(err, &e) {
		r.Text, r.Advice = e.Reason, e.Advice
		if e.Path != "" && e.Path != what {
			r.Text = e.Error()
		}
	}
	return r
}
