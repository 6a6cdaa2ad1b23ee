package loader

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/sealcache"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// builtRules are the modules of rules files: those that were taken into use, and what earlier processes have built. The
// zero value has neither.
type builtRules struct {
	cache *sealcache.Cache
	log   *slog.Logger // nil discards

	mu    sync.Mutex
	inUse map[string]usedRules // by the name in the binding; nil: every look reads the file
}

// builtRulesDir is where the modules of rules files are kept.
func builtRulesDir(dir string) string { return filepath.Join(statedir.Cache(dir), "rules") }

func builtRulesUse() sealcache.Use {
	return sealcache.Use{Purpose: "belay built rules 1", Entries: 32}
}

// usedRules is a module as it was built when its file was taken into use, or why there is none.
type usedRules struct {
	module []byte
	err    error
}

// rulesFile is a rules file as it was read.
type rulesFile struct {
	name string // in the binding
	src  []byte
	err  error // it cannot be read
}

// digest names the content, "" where it cannot be read.
func (f *rulesFile) digest() string {
	if f.err != nil {
		return ""
	}
	return phases.ByteDigest(f.src)
}

// readRules reads the rules files that bindings name, each once, in the order of their names.
func (s *source) readRules(bindings []config.Binding) []*rulesFile {
	var out []*rulesFile
	for _, h := range bindings {
		file, _, ok := rules.ParseModule(h.Module)
		if !ok || slices.ContainsFunc(out, func(f *rulesFile) bool { return f.name == file }) {
			continue
		}
		f := &rulesFile{name: file}
		f.src, f.err = statedir.Read(statedir.Inside(s.dir, file), strictyaml.MaxSize)
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *rulesFile) int { return strings.Compare(a.name, b.name) })
	return out
}

// buildRules returns the module of a rules file: the one that was taken into use, else as the file is now.
func (s *source) buildRules(module string) ([]byte, error) {
	if s.rules != nil {
		s.rules.mu.Lock()
		used, ok := s.rules.inUse[module]
		s.rules.mu.Unlock()
		if ok {
			return used.module, used.err
		}
	}
	file, part, _ := rules.ParseModule(module)
	src, err := statedir.Read(statedir.Inside(s.dir, file), strictyaml.MaxSize)
	if err != nil {
		return nil, err
	}
	built, _, err := s.compileRules(file, src, part)
	return built, err
}

// compileRules builds a part of a rules file, and says which parts the file has. What was built before, by
// this program, is taken from the cache.
func (s *source) compileRules(file string, src []byte, p rules.Part) ([]byte, []rules.Part, error) {
	engine, err := s.builtin.Get(rules.Engine)
	if err != nil {
		return nil, nil, err
	}
	if s.rules == nil {
		return rules.CompileParts(file, src, engine.Module, p)
	}
	sum := sha256.Sum256(src)
	key := fmt.Sprintf("%x %s %s", sum, p, engine.Digest)
	kept, err := s.rules.cache.Get(key)
	if err == nil {
		if module, parts, ok := unpackRules(kept); ok {
			return module, parts, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.rules.warn("built rules are not taken from the cache, but built again", err)
	}
	module, parts, err := rules.CompileParts(file, src, engine.Module, p)
	if err != nil {
		return nil, parts, err
	}
	if err := s.rules.cache.Put(key, packRules(module, parts)); err != nil {
		s.rules.warn("built rules cannot be kept in the cache", err)
	}
	return module, parts, nil
}

func (b *builtRules) warn(text string, err error) {
	if b.log != nil {
		b.log.Warn(text, slog.Any("error", err))
	}
}

// packRules is an entry of the cache: a byte with a bit for each part of the file, and the module.
func packRules(module []byte, parts []rules.Part) []byte {
	out := make([]byte, 1, len(module)+1)
	for _, p := range parts {
		out[0] |= 1 << p
	}
	return append(out, module...)
}

func unpackRules(entry []byte) (module []byte, parts []rules.Part, ok bool) {
	if len(entry) < 2 {
		return nil, nil, false
	}
	for _, p := range []rules.Part{rules.Judges, rules.Changes} {
		if entry[0]>>p&1 == 1 {
			parts = append(parts, p)
		}
	}
	return entry[1:], parts, true
}

// UseRules reads the rules files that bindings name and takes them into use: until the next call, Load takes
// the modules that they were built into now, whatever becomes of the files. It refuses bindings that leave
// out a part of a file: a
// rule that is bound nowhere would silently not hold. Where faulty is set, other faults of a file are no
// error, and Load answers with them. The error is about the first file that is faulty, rules.ErrRules for
// errors.Is, or about reading
// it; then nothing has changed. undo goes back to what was in use before, and is not nil.
func (l *Loader) UseRules(bindings []config.Binding, faulty bool) (used []wire.RulesFile, undo func(), err error) {
	undo = func() {}
	inUse := map[string]usedRules{}
	read := l.files.readRules(bindings)
	for _, h := range bindings {
		name, part, ok := rules.ParseModule(h.Module)
		if _, done := inUse[h.Module]; !ok || done {
			continue
		}
		f := read[slices.IndexFunc(read, func(f *rulesFile) bool { return f.name == name })]
		now, parts := usedRules{err: f.err}, []rules.Part(nil)
		if f.err == nil {
			now.module, parts, now.err = l.files.compileRules(name, f.src, part)
		}
		for _, p := range parts {
			other := rules.ModuleName(name, p)
			if !slices.ContainsFunc(bindings, func(b config.Binding) bool { return b.Module == other }) {
				return nil, undo, &rules.Error{File: name,
					Reason: "it has rules that no hook is bound to: bind module " + other + ", too"}
			}
		}
		if now.err != nil && !faulty {
			return nil, undo, fmt.Errorf("the hook %s: %w", h.Name, now.err)
		}
		inUse[h.Module] = now
	}
	kept := l.files.rules
	kept.mu.Lock()
	before := kept.inUse
	kept.inUse = inUse
	kept.mu.Unlock()
	return onWire(read), func() {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		kept.inUse = before
	}, nil
}

// RulesFiles says what the rules files hold that bindings name, and builds nothing.
func (l *Loader) RulesFiles(bindings []config.Binding) []wire.RulesFile {
	return onWire(l.files.readRules(bindings))
}

func onWire(read []*rulesFile) (out []wire.RulesFile) {
	for _, f := range read {
		out = append(out, wire.RulesFile{File: f.name, Digest: f.digest()})
	}
	return out
}

// RulesRevision is what the revision of a configuration says of its rules files: nothing without one, else
// +rules: and a digest, of the one file or of a line for each.
func RulesRevision(used []wire.RulesFile) string {
	if len(used) == 0 {
		return ""
	}
	if len(used) == 1 && used[0].Digest != "" {
		return "+rules:" + used[0].Digest
	}
	var all strings.Builder
	for _, f := range used {
		fmt.Fprintf(&all, "%s  %s\n", f.Digest, f.File)
	}
	return "+rules:" + phases.ByteDigest([]byte(all.String()))
}
