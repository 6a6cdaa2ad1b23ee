package loader

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/tiers"
)

// source finds the bytes of a module and the evidence about them.
type source struct {
	dir     string // the state directory; "": there is none
	builtin *builtin.Set
	given   []Ready
	rules   *builtRules
}

// read returns the module's bytes and the digest that they must have.
func (s *source) read(spec kernel.BindingSpec) (file []byte, digest string, err error) {
	if i, ok := strings.CutPrefix(spec.Module, givenScheme); ok {
		for _, a := range s.given {
			if a.Spec.Module == givenScheme+i {
				return a.file, "", nil
			}
		}
		return nil, "", errors.New("no such hook")
	}
	if name, ok := strings.CutPrefix(spec.Module, "builtin:"); ok {
		h, err := s.builtin.Get(name)
		return h.Module, cmp.Or(spec.Digest, h.Digest), err
	}
	if _, _, ok := rules.ParseModule(spec.Module); ok {
		file, err := s.buildRules(spec.Module)
		return file, spec.Digest, err
	}
	path, digest := spec.Module, spec.Digest
	if hexDigest, ok := strings.CutPrefix(spec.Module, "sha256:"); ok {
		path, digest = filepath.Join("blobs", "sha256", hexDigest), spec.Module
	}
	if digest == "" {
		return nil, "", errors.New("no digest is pinned")
	}
	file, err = statedir.ReadModule(statedir.Inside(s.dir, path))
	return file, digest, err
}

// modulePath returns the file that a binding names, or "" when it names none.
func modulePath(dir, module string) string {
	for _, scheme := range []string{givenScheme, "builtin:", "sha256:", rules.Scheme} {
		if strings.HasPrefix(module, scheme) {
			return ""
		}
	}
	return statedir.Inside(dir, module)
}

// evidence returns the evidence about a bound module: in its store, and beside its file.
func (s *source) evidence(spec kernel.BindingSpec, digest string) ([]tiers.Evidence, error) {
	list, err := trust.ReadEvidence(statedir.Blob(s.dir, digest))
	if err != nil {
		return nil, err
	}
	if path := modulePath(s.dir, spec.Module); path != "" {
		beside, err := trust.ReadEvidence(path)
		if err != nil {
			return nil, err
		}
		list = append(list, beside...)
	}
	return list, nil
}
