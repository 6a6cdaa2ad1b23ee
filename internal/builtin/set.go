// Package builtin decides which hooks come with the binary. They count as
// trusted because their digests are compiled in (from the lock beside their
// sources), not because a key signed them; an embedded module whose bytes do not
// fit its digest is refused like any other.
//
// It never reads the file system.
package builtin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/go-json-experiment/json"

	exampleswasm "github.com/belay-hooks/belay/examples-wasm"
	"github.com/belay-hooks/belay/phases"
)

// Errors, for errors.Is.
var (
	ErrUnknown = errors.New("no such built-in hook")
	ErrDigest  = errors.New("an embedded module does not fit its digest")
)

// Hook is one embedded hook.
type Hook struct {
	Name   string
	Others []string // further names of it, sorted
	Digest string   // sha256:<hex> of Module
	Module []byte   // must not be changed
}

// Set is the embedded hooks. It is not changed after Load and safe for
// concurrent use.
type Set struct {
	byName   map[string]func() (Hook, error) // reads and checks the module at the first call
	byDigest map[string]string
}

// lock is the part of digests.lock that matters here; its other members serve a
// rebuild of the modules.
type lock struct {
	Modules []struct {
		Name   string `json:"name"`
		File   string `json:"file"`
		Digest string `json:"digest"`
	} `json:"modules"`
}

// Load reads which modules are embedded. Each is read and checked when it is first asked for: most programs use a
// few of them.
func Load() (*Set, error) {
	src, err := exampleswasm.Read("digests.lock")
	if err != nil {
		return nil, fmt.Errorf("builtin: %w", err)
	}
	var l lock
	if err := json.Unmarshal(src, &l); err != nil {
		return nil, fmt.Errorf("builtin: digests.lock: %w", err)
	}
	s := &Set{byName: map[string]func() (Hook, error){}, byDigest: map[string]string{}}
	for _, m := range l.Modules {
		s.byName[m.Name] = sync.OnceValues(func() (Hook, error) {
			b, err := exampleswasm.Read(m.File)
			if err != nil {
				return Hook{}, fmt.Errorf("builtin: %s: %w", m.Name, err)
			}
			return checked(Hook{Name: m.Name, Others: othersOf(m.Name), Digest: m.Digest, Module: b})
		})
		s.byDigest[m.Digest] = m.Name
	}
	return s, nil
}

// checked refuses a hook whose module does not fit its digest. The error is ErrDigest.
func checked(h Hook) (Hook, error) {
	if got := phases.ByteDigest(h.Module); got != h.Digest {
		return Hook{}, fmt.Errorf("builtin: %s: %w: it is %s, the lock says %s", h.Name, ErrDigest, got, h.Digest)
	}
	return h, nil
}

// Get returns the hook with the name, or with that further name. The error is ErrUnknown or ErrDigest.
func (s *Set) Get(name string) (Hook, error) {
	read, ok := s.byName[Name(name)]
	if !ok {
		return Hook{}, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	return read()
}

// ByDigest returns the hook whose module has the digest.
func (s *Set) ByDigest(digest string) (Hook, bool) {
	read, ok := s.byName[s.byDigest[digest]]
	if !ok {
		return Hook{}, false
	}
	h, err := read()
	return h, err == nil
}

// OptionsFile is the file in the state directory that the hook's options stand in where an
// operator names no other: there are files in its form that people have already. "": none.
func OptionsFile(name string) string {
	if Name(name) == "command-intercept" {
		return "command-intercept.yaml"
	}
	return ""
}

// Trusted reports whether a file with the digest is one of the embedded hooks.
func (s *Set) Trusted(digest string) bool {
	_, ok := s.byDigest[digest]
	return ok
}

// Names returns the names of all embedded hooks, sorted. It reads no module.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Hooks returns all embedded hooks, sorted by name, but for those whose module does not fit its digest.
func (s *Set) Hooks() []Hook {
	out := make([]Hook, 0, len(s.byName))
	for _, read := range s.byName {
		if h, err := read(); err == nil {
			out = append(out, h)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
