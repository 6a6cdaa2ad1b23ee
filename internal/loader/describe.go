package loader

import (
	"slices"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Description is a module file's own account of itself.
type Description struct {
	Digest   string // sha256:<hex>
	Phases   []phases.Phase
	Imports  []string        // of belay's calls
	Manifest *tiers.Manifest // derived from exports and imports when the file has none
	Derived  bool
}

// Describe looks at a module file without running it. Errors are as those of Load.
func (b *Bench) Describe(module []byte) (*Description, error) {
	info, err := b.engine.Inspect(module)
	if err != nil {
		return nil, loadFault("", err)
	}
	d := &Description{Digest: phases.ByteDigest(module), Phases: slices.Clone(info.Phases),
		Imports: slices.Clone(info.Imports)}
	if info.Manifest == nil {
		d.Manifest, d.Derived = derive(&info), true
		return d, nil
	}
	if d.Manifest, err = tiers.DecodeManifest(info.Manifest); err != nil {
		return nil, loadFault("", err)
	}
	return d, nil
}

// Builtin returns the module that comes with the binary under the name.
func (b *Bench) Builtin(name string) ([]byte, error) {
	h, err := b.files.builtin.Get(name)
	return h.Module, err
}
