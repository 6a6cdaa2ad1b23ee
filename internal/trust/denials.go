package trust

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// DenialsFile holds, in a state directory, what all kernels of an organisation deny. It is made of what people deny
// here for all of them and of what others do. Entries are only ever added: the file counts without a database, too.
const DenialsFile = "denials.json"

// Denial is one order of a person: these files, keys, identities and signatures run on no kernel.
type Denial struct {
	ID   string     `json:"id"` // a UUID
	Deny tiers.Deny `json:"deny"`
	Why  string     `json:"why,omitzero"`
	By   string     `json:"by,omitzero"` // a person, as that kernel says
	At   time.Time  `json:"at"`

	Kernel string `json:"kernel,omitzero"` // in whose log it is recorded; "": other kernels do not know of it yet
	Event  int64  `json:"event,omitzero"`  // of that log
}

// Denials is the content of the file.
type Denials struct {
	Version int      `json:"version"`
	Denials []Denial `json:"denials"`
	// denials of other kernels that this belay cannot read: while there are some, what is denied is not known, and no
	// signature is trusted
	Unreadable []string `json:"unreadable,omitzero"`
}

const (
	denialsVersion = 1
	maxDenials     = 32 << 20 // bytes
	maxDenialText  = 300
)

// NewDenial makes an entry that other kernels do not know of yet.
func NewDenial(d tiers.Deny, why, by string, now time.Time) Denial {
	return Denial{ID: uuid.Must(uuid.NewV7AtTime(now)).String(), Deny: d, Why: phases.SafeLine(why, maxDenialText),
		By: phases.SafeLine(by, maxDenialText), At: now.UTC().Truncate(time.Second)}
}

// Encode returns the entry as other kernels read it: without where it is recorded, which they read elsewhere.
func (d Denial) Encode() ([]byte, error) {
	d.Kernel, d.Event = "", 0
	return json.Marshal(&d, json.Deterministic(true))
}

// DecodeDenial reads an entry that another kernel has written.
func DecodeDenial(b []byte) (d Denial, err error) {
	if err = json.Unmarshal(b, &d, json.RejectUnknownMembers(true)); err == nil {
		err = d.check()
	}
	if err == nil && (d.Kernel != "" || d.Event != 0) {
		err = errors.New("it says itself where it is recorded")
	}
	if err != nil {
		return Denial{}, err
	}
	return d, nil
}

// check looks at an entry, and makes its patterns ready.
func (d *Denial) check() error {
	if id, err := uuid.FromString(d.ID); err != nil || id.String() != d.ID {
		return errors.New("/id: it is no UUID")
	}
	if d.Why != phases.SafeLine(d.Why, maxDenialText) || d.By != phases.SafeLine(d.By, maxDenialText) {
		return fmt.Errorf("/why, /by: want a line of at most %d bytes", maxDenialText)
	}
	src, err := json.Marshal(&d.Deny, json.Deterministic(true))
	if err != nil {
		return err
	}
	deny, err := tiers.ParseDeny(src)
	if err == nil && deny.Empty() {
		err = errors.New("/deny: it denies nothing")
	}
	d.Deny = deny
	return err
}

// maxTold bounds an entry that other kernels do not know of yet, in bytes as it is told. The table that they share
// takes 32 KiB, and texts grow where a part of them is redacted.
const maxTold = 28 << 10

// fits looks at an entry that is about to be written: the file is read strictly, and a row of the shared table has a
// bound.
func (d *Denial) fits() error {
	if err := d.check(); err != nil {
		return err
	}
	if d.Event != 0 {
		return nil
	}
	if b, err := d.Encode(); err != nil || len(b) > maxTold {
		return cmp.Or(err, fmt.Errorf("%d bytes are more than the %d of one denial: deny in several steps", len(b), maxTold))
	}
	return nil
}

// ReadDenials reads the file in dir; without one there are none. The error is of class tiers.PolicyUnusable.
func ReadDenials(dir string) (Denials, error) {
	src, err := files.Read(filepath.Join(dir, DenialsFile), maxDenials)
	if errors.Is(err, fs.ErrNotExist) {
		return Denials{}, nil
	}
	var out Denials
	if err == nil {
		out, err = parseDenials(src)
	}
	if err != nil {
		return Denials{}, &tiers.Error{Class: tiers.PolicyUnusable, Text: DenialsFile + ": " + err.Error(), Cause: err}
	}
	return out, nil
}

func parseDenials(src []byte) (out Denials, err error) {
	if err := json.Unmarshal(src, &out, json.RejectUnknownMembers(true)); err != nil {
		return Denials{}, err
	}
	if out.Version != denialsVersion {
		return Denials{}, fmt.Errorf("/version: %d is none that this belay knows", out.Version)
	}
	for i := range out.Denials {
		if err := out.Denials[i].check(); err != nil {
			return Denials{}, fmt.Errorf("/denials/%d: %w", i, err)
		}
	}
	return out, nil
}

// EditDenials changes the file in dir; change may be called again. When nothing is changed, nothing is written.
func EditDenials(dir string, change func(*Denials) error) error {
	return statedir.Edit(filepath.Join(dir, DenialsFile), maxDenials, func(src []byte) ([]byte, error) {
		var d Denials
		var err error
		if src != nil {
			if d, err = parseDenials(src); err != nil {
				return nil, fmt.Errorf("%s: %w", DenialsFile, err)
			}
		}
		if err := change(&d); err != nil {
			return nil, err
		}
		if src == nil && len(d.Denials)+len(d.Unreadable) == 0 {
			return nil, nil
		}
		for i := range d.Denials {
			if err := d.Denials[i].fits(); err != nil {
				return nil, fmt.Errorf("%s: /denials/%d: %w", DenialsFile, i, err)
			}
		}
		d.Version = denialsVersion
		d.Denials = append([]Denial{}, d.Denials...)
		slices.SortStableFunc(d.Denials, func(a, b Denial) int { return cmp.Compare(a.ID, b.ID) })
		out, err := json.Marshal(&d, json.Deterministic(true), jsontext.WithIndent("  "))
		return append(out, '\n'), err
	})
}

// sameAs reports whether two entries deny the same. Their texts may differ: they are told redacted.
func (d *Denial) sameAs(n *Denial) bool {
	a, err := json.Marshal(&d.Deny, json.Deterministic(true))
	b, berr := json.Marshal(&n.Deny, json.Deterministic(true))
	return err == nil && berr == nil && bytes.Equal(a, b)
}

// Add takes in an entry. One of the same name stays as it is, but for where it is recorded, if both deny the same.
func (d *Denials) Add(n Denial) {
	for i := range d.Denials {
		if o := &d.Denials[i]; o.ID == n.ID {
			if o.Event == 0 && o.sameAs(&n) {
				o.Kernel, o.Event = n.Kernel, n.Event
			}
			return
		}
	}
	d.Denials = append(d.Denials, n)
}

// on returns the policy with what all kernels deny. The error is of class tiers.PolicyUnusable.
func (d *Denials) on(p *tiers.Policy) (*tiers.Policy, error) {
	if len(d.Unreadable) > 0 {
		return nil, &tiers.Error{Class: tiers.PolicyUnusable, Text: fmt.Sprintf(
			"what another kernel denies cannot be read (%s): install the belay of that kernel, or have the owner of the "+
				"database look at the table denials", d.Unreadable[0])}
	}
	return p.Denying(d.lists()...)
}

// lists returns what the entries deny.
func (d *Denials) lists() []tiers.Deny {
	out := make([]tiers.Deny, len(d.Denials))
	for i := range d.Denials {
		out[i] = d.Denials[i].Deny
	}
	return out
}
