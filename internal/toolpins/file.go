package toolpins

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

// FileName is the file of the state directory that holds the accepted definitions.
const FileName = "tools.json"

const (
	version    = "belay/tools/v1"
	maxFile    = 8 << 20  // bytes
	maxServers = 256      // that were ever declared here
	maxTools   = 1024     // of one server; as many as one may list
	maxName    = 128      // bytes
	maxText    = 16 << 10 // bytes of one definition that is kept to be compared
	maxTexts   = 128 << 10
	maxLines   = 8 // of a change that waits
)

// ErrFile: tools.json cannot be read or written. No tool of an MCP server runs until it can.
var ErrFile = errors.New(FileName + " cannot be used")

// pinned is the content of tools.json.
type pinned struct {
	Version string              `json:"version"`
	Servers map[string]accepted `json:"servers"`
}

// accepted is what counts for one server.
type accepted struct {
	Way      string          `json:"way"`         // digest of how belay.yaml reached it
	Reached  string          `json:"reached"`     // the same as text, redacted
	Since    time.Time       `json:"since"`       // of the first sight, or of the newest approval
	By       string          `json:"by,omitzero"` // the reviewer; "": as belay first saw it
	Approval string          `json:"approval,omitzero"`
	Tools    map[string]tool `json:"tools"`
	Waits    *waiting        `json:"waits,omitzero"`
}

// tool is one accepted definition.
type tool struct {
	Digest string `json:"digest"`
	Text   string `json:"text,omitzero"` // redacted; "" when it is too large to be kept
}

// waiting is a change that was seen and that no person has accepted.
type waiting struct {
	Key   string    `json:"key"`
	Since time.Time `json:"since"`
	Lines []string  `json:"lines"`
}

func path(dir string) string { return filepath.Join(dir, FileName) }

// read reads tools.json; one that is not there holds nothing. The error is of ErrFile.
func read(dir string) (pinned, error) {
	src, err := files.Read(path(dir), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return decode(nil)
	}
	if err != nil {
		return pinned{}, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return decode(src)
}

// decode decodes tools.json strictly; nil is one without servers.
func decode(src []byte) (pinned, error) {
	p := pinned{}
	if src == nil {
		p = pinned{Version: version, Servers: map[string]accepted{}}
	} else {
		if err := json.Unmarshal(src, &p, json.RejectUnknownMembers(true)); err != nil {
			var se *json.SemanticError
			if errors.As(err, &se) {
				return pinned{}, fmt.Errorf("%w: %s is not what is wanted there", ErrFile,
					phases.SafeLine(string(se.JSONPointer), 256))
			}
			return pinned{}, fmt.Errorf("%w: it is not strict JSON", ErrFile)
		}
	}
	return p, p.check()
}

func (p *pinned) check() error {
	bad := func(at, why string) error { return fmt.Errorf("%w: %s %s", ErrFile, at, why) }
	if p.Version != version {
		return bad("/version", "is not "+version)
	}
	if p.Servers == nil {
		return bad("/servers", "are missing")
	}
	if len(p.Servers) > maxServers {
		return bad("/servers", fmt.Sprintf("are more than %d", maxServers))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
		s, at := p.Servers[name], phases.Join("/servers", phases.SafeLine(name, maxName))
		switch {
		case name == "" || len(name) > maxName:
			return bad(at, "is no name")
		case CheckDigest(s.Way) != nil:
			return bad(at+"/way", "is no digest")
		case s.Tools == nil:
			return bad(at+"/tools", "are missing")
		case len(s.Tools) > maxTools:
			return bad(at+"/tools", fmt.Sprintf("are more than %d", maxTools))
		}
		for _, t := range slices.Sorted(maps.Keys(s.Tools)) {
			where := phases.Join(at+"/tools", phases.SafeLine(t, maxName))
			if t == "" || len(t) > maxName {
				return bad(where, "is no name")
			}
			if err := CheckDigest(s.Tools[t].Digest); err != nil {
				return bad(where+"/digest", "is no digest")
			}
		}
	}
	return nil
}

// edit changes tools.json, or what is in memory. The error is of ErrFile, or change's own.
func (d *Desk) edit(change func(*pinned) error) error {
	if d.o.Dir == "" {
		d.mu.Lock()
		defer d.mu.Unlock()
		next, err := d.memory.clone()
		if err == nil {
			err = change(&next)
		}
		if err == nil {
			d.memory = next
		}
		return err
	}
	var own error
	err := statedir.Edit(path(d.o.Dir), maxFile, func(old []byte) ([]byte, error) {
		p, err := decode(old)
		if err != nil {
			return nil, err
		}
		if own = change(&p); own != nil {
			return nil, own
		}
		out, err := p.encode()
		if err == nil && len(out) > maxFile {
			err = fmt.Errorf("it would be larger than %d bytes", maxFile)
		}
		return out, err
	})
	if err != nil && own == nil && !errors.Is(err, ErrFile) {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return err
}

func (p *pinned) encode() ([]byte, error) {
	b, err := json.Marshal(p, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

func (p *pinned) clone() (pinned, error) {
	if p.Version == "" {
		return decode(nil)
	}
	b, err := p.encode()
	if err != nil {
		return pinned{}, err
	}
	return decode(b)
}

// now returns what is accepted at present.
func (d *Desk) now() (pinned, error) {
	if d.o.Dir != "" {
		return read(d.o.Dir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory.clone()
}

// Waits lists the changes in a state directory that no person has accepted, by server. The error
// is of ErrFile.
func Waits(dir string) ([]wire.ChangedTools, error) {
	p, err := read(dir)
	if err != nil {
		return nil, err
	}
	var out []wire.ChangedTools
	for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
		if w := p.Servers[name].Waits; w != nil {
			out = append(out, wire.ChangedTools{Server: name, Since: w.Since, Changes: w.Lines})
		}
	}
	return out, nil
}
