package loader

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// builtRules holds the modules that rules files were last built into, by the name in the
// binding. The zero value holds none; nil keeps none.
type builtRules struct {
	mu      sync.Mutex
	modules map[string]builtModule
}

type builtModule struct {
	source [sha256.Size]byte // of the rules file
	module []byte
}

// buildRules returns the module of a rules file. A file that has become faulty since it was
// built leaves the module that it was built into in force: what reads it to take it into use
// asks CheckRules first.
func (s *source) buildRules(module string) ([]byte, error) {
	built, err := s.freshRules(module)
	if err == nil || s.rules == nil {
		return built, err
	}
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	if before, ok := s.rules.modules[module]; ok {
		return before.module, nil
	}
	return nil, err
}

// freshRules returns the module of a rules file as it is now.
func (s *source) freshRules(module string) ([]byte, error) {
	file, part, _ := rules.ParseModule(module)
	src, err := statedir.Read(statedir.Inside(s.dir, file), strictyaml.MaxSize)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	if s.rules != nil {
		s.rules.mu.Lock()
		defer s.rules.mu.Unlock()
		if before, ok := s.rules.modules[module]; ok && before.source == sum {
			return before.module, nil
		}
	}
	engine, err := s.builtin.Get(rules.Engine)
	if err != nil {
		return nil, err
	}
	built, err := rules.Compile(file, src, engine.Module, part)
	if err != nil {
		return nil, err
	}
	if s.rules != nil {
		if s.rules.modules == nil {
			s.rules.modules = map[string]builtModule{}
		}
		s.rules.modules[module] = builtModule{sum, built}
	}
	return built, nil
}

// CheckRules builds the rules files of the bindings, before they are taken into use, and
// makes the check of CheckParts. The error is about the first file that is faulty,
// rules.ErrRules for errors.Is, or about reading it.
func (l *Loader) CheckRules(bindings []config.Binding) error {
	for _, h := range bindings {
		if _, _, ok := rules.ParseModule(h.Module); ok {
			if _, err := l.files.freshRules(h.Module); err != nil {
				return fmt.Errorf("the hook %s: %w", h.Name, err)
			}
		}
	}
	return l.CheckParts(bindings)
}

// CheckParts refuses bindings that leave out a part of a rules file: a rule that is bound
// nowhere would silently not hold. Files that cannot be used are no fault here: their
// hooks block their phases. The error is rules.ErrRules for errors.Is.
func (l *Loader) CheckParts(bindings []config.Binding) error {
	bound := map[string]bool{}
	for _, h := range bindings {
		bound[h.Module] = true
	}
	for _, h := range bindings {
		file, _, ok := rules.ParseModule(h.Module)
		if !ok {
			continue
		}
		src, err := statedir.Read(statedir.Inside(l.files.dir, file), strictyaml.MaxSize)
		if err != nil {
			continue
		}
		f, err := rules.Parse(file, src)
		if err != nil {
			continue
		}
		for _, p := range f.Parts() {
			if other := rules.ModuleName(file, p); !bound[other] {
				return &rules.Error{File: file, Reason: fmt.Sprintf("it has rules that no hook is bound to: bind module %s, too", other)}
			}
		}
	}
	return nil
}
