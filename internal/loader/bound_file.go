package loader

import (
	"fmt"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// ReadBound reads the module of a binding in the state directory dir, and the evidence about it.
// A file that is not the bound one is an error.
func ReadBound(dir string, spec kernel.BindingSpec) (file []byte, evidence []tiers.Evidence, err error) {
	hooks, err := builtin.Load()
	if err != nil {
		return nil, nil, err
	}
	files := source{dir: dir, builtin: hooks}
	file, want, err := files.read(spec)
	if err != nil {
		return nil, nil, err
	}
	digest := phases.ByteDigest(file)
	if want != "" && digest != want {
		return nil, nil, fmt.Errorf("the file of %s is not the one that was bound: it has the digest %s", spec.Name, digest)
	}
	evidence, err = files.evidence(spec, digest)
	return file, evidence, err
}
