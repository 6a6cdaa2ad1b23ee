package oci

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// wasmConfig is the config blob of the Wasm artifact layout. Readers that follow it
// (oci-wasm of the Bytecode Alliance, wkg, spin) refuse a config without created.
type wasmConfig struct {
	Created      string   `json:"created,omitzero"`
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	LayerDigests []string `json:"layerDigests"`
}

// created is no time at which anything was made: with a clock in it, the same file
// would have another manifest digest after each push.
const created = "1970-01-01T00:00:00Z"

// Pack returns the manifest and config of a module: the same bytes for the same
// module, always and everywhere.
func Pack(module []byte) (manifest, config []byte, err error) { return pack(module, created) }

func pack(module []byte, created string) (manifest, config []byte, err error) {
	layer := describe(MediaTypeWasm, module)
	config, err = json.Marshal(wasmConfig{Created: created, Architecture: "wasm", OS: "wasip1",
		LayerDigests: []string{layer.Digest}})
	if err != nil {
		return nil, nil, err
	}
	manifest, err = json.Marshal(Manifest{
		SchemaVersion: 2, MediaType: MediaTypeManifest,
		Config: describe(MediaTypeWasmConfig, config), Layers: []Descriptor{layer},
	})
	return manifest, config, err
}

// PackAs returns the config that belongs to a manifest which this belay, or one from
// before configs had created, made of the module. Signatures over such a manifest
// are worth as much as ever, so that a mirror has to get that one and no other. For
// a manifest that another tool made, and for none, ok is false.
func PackAs(module, manifest []byte) (config []byte, ok bool, err error) {
	for _, created := range []string{created, ""} {
		made, config, err := pack(module, created)
		if err != nil {
			return nil, false, err
		}
		if bytes.Equal(made, manifest) {
			return config, true, nil
		}
	}
	return nil, false, nil
}
