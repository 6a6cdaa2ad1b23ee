package hookbuild

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/belay-hooks/belay/tiers"
)

// Pack returns the module with the manifest in its custom section
// belay.manifest, as the last section. A manifest that was there before is
// replaced; any other section whose name begins with "belay." is an error, since
// the host would refuse it. The manifest must be the JSON form (see
// tiers.Manifest.Encode) and is decoded strictly first.
//
// Only the frame of the sections is read: whether the module is sound is the
// sandbox's to say. Errors are of class ErrModule or ErrSource.
func Pack(module, manifest []byte) ([]byte, error) {
	if _, err := tiers.DecodeManifest(manifest); err != nil {
		return nil, failure(ErrSource, err, "the manifest is wrong: %v", err)
	}
	const headerSize = 8
	switch {
	case len(module) < headerSize || !bytes.HasPrefix(module, []byte("\x00asm")):
		return nil, failure(ErrModule, nil, "not a WebAssembly module")
	case bytes.Equal(module[4:headerSize], []byte{0x0d, 0, 1, 0}):
		return nil, failure(ErrModule, nil,
			"this is a WebAssembly component; build a core module instead (target wasm32-unknown-unknown, or wasip1 as a reactor)")
	case !bytes.Equal(module[4:headerSize], []byte{1, 0, 0, 0}):
		return nil, failure(ErrModule, nil, "not a WebAssembly module of version 1")
	}
	out := bytes.Clone(module[:headerSize])
	for rest := module[headerSize:]; len(rest) > 0; {
		section, name, err := cutSection(rest)
		if err != nil {
			return nil, err
		}
		switch {
		case name == tiers.ManifestSection:
		case strings.HasPrefix(name, "belay."):
			return nil, failure(ErrModule, nil,
				"the module has a custom section %q; names that begin with belay. are belay's own", clip(name))
		default:
			out = append(out, section...)
		}
		rest = rest[len(section):]
	}
	return append(out, customSection(tiers.ManifestSection, manifest)...), nil
}

// cutSection returns the section at the start of b with its frame, and its name
// when it is a custom one.
func cutSection(b []byte) (section []byte, name string, err error) {
	broken := func() ([]byte, string, error) {
		return nil, "", failure(ErrModule, nil, "the module is cut off or broken")
	}
	size, n := uleb(b[1:])
	if n == 0 || size > uint64(len(b)-1-n) {
		return broken()
	}
	end := 1 + n + int(size)
	if b[0] == 0 {
		payload := b[1+n : end]
		length, m := uleb(payload)
		if m == 0 || length > uint64(len(payload)-m) {
			return broken()
		}
		name = string(payload[m : m+int(length)])
	}
	return b[:end], name, nil
}

// uleb reads an unsigned LEB128 number of at most five bytes; n is 0 when there is none.
func uleb(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n < 0 || n > 5 || v > 1<<32-1 {
		return 0, 0
	}
	return v, n
}

func customSection(name string, payload []byte) []byte {
	body := binary.AppendUvarint(nil, uint64(len(name)))
	body = append(body, name...)
	body = append(body, payload...)
	out := binary.AppendUvarint([]byte{0}, uint64(len(body)))
	return append(out, body...)
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
