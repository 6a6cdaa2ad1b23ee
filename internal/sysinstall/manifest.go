//go:build linux

package sysinstall

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// manifestVersion is the only version of the format.
const manifestVersion = "belay-installed/v1"

// Manifest says what an installation wrote. It holds no time, so that images are alike.
type Manifest struct {
	Version string            `json:"version"`
	Program string            `json:"program"` // version of belay
	Files   map[string]string `json:"files"`   // path to digest
	// Pending is what a command that is at work, or was stopped, writes in their place.
	Pending map[string]string `json:"pending,omitzero"`
}

// wrote reports whether an installation wrote a file of that digest there.
func (m Manifest) wrote(name, digest string) bool {
	return digest != "" && (m.Files[name] == digest || m.Pending[name] == digest)
}

func (m Manifest) equal(o Manifest) bool {
	return m.Version == o.Version && m.Program == o.Program && maps.Equal(m.Files, o.Files) &&
		maps.Equal(m.Pending, o.Pending)
}

// unfinished reports whether a command of belay system was stopped in the middle.
func (m Manifest) unfinished() bool { return m.Version != "" && (m.Program == "" || m.Pending != nil) }

// manifest reads the manifest; an empty one where there is none.
func (t *Tree) manifest() (Manifest, error) {
	var m Manifest
	src, err := t.read(ManifestFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(src, &m, json.RejectUnknownMembers(true)); err != nil || m.Version != manifestVersion {
		return Manifest{}, unsafe(ManifestFile, "is not what an installation writes", "Move it away, and install again.")
	}
	return m, nil
}

func (m Manifest) encode() ([]byte, error) {
	b, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

func (t *Tree) writeManifest(m Manifest) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	return t.write(ManifestFile, bytes.NewReader(b), 0o644, true)
}

// digest returns the digest of a file of root's.
func (t *Tree) digest(name string) (string, error) {
	f, err := t.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read
	return digestOf(f)
}

func digestOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return phases.SumDigest(h.Sum(nil)), nil
}
