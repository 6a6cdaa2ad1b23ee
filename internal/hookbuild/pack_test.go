package hookbuild

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

const testManifest = `{"abi":1,"name":"t","phases":["pre_tool"],"version":"1.0.0"}`

var emptyModule = []byte("\x00asm\x01\x00\x00\x00")

func module(sections ...[]byte) []byte {
	return append(bytes.Clone(emptyModule), bytes.Join(sections, nil)...)
}

func TestPack(t *testing.T) {
	types := []byte{1, 4, 1, 0x60, 0, 0}
	name := customSection("name", []byte("x"))
	packed, err := Pack(module(types, name), []byte(testManifest))
	if err != nil {
		t.Fatal(err)
	}
	want := module(types, name, customSection("belay.manifest", []byte(testManifest)))
	if !bytes.Equal(packed, want) {
		t.Errorf("got %q\nwant %q", packed, want)
	}
	// Packing again replaces: one file has one manifest.
	again, err := Pack(packed, []byte(testManifest))
	if err != nil || !bytes.Equal(again, want) {
		t.Errorf("again: %q %v", again, err)
	}
}

func TestPackRefuses(t *testing.T) {
	for _, c := range []struct {
		name     string
		module   []byte
		manifest string
		class    error
		text     string
	}{
		{"nothing", nil, testManifest, ErrModule, "not a WebAssembly module"},
		{"text", []byte("(module)"), testManifest, ErrModule, "not a WebAssembly module"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), testManifest, ErrModule, "component"},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), testManifest, ErrModule, "version 1"},
		{"cut section", module([]byte{1, 4, 1}), testManifest, ErrModule, "cut off"},
		{"no size", module([]byte{1}), testManifest, ErrModule, "cut off"},
		{"endless size", module(append([]byte{1}, bytes.Repeat([]byte{0x80}, 12)...)), testManifest, ErrModule, "cut off"},
		{"huge size", module([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), testManifest, ErrModule, "cut off"},
		{"custom section without a name", module([]byte{0, 0}), testManifest, ErrModule, "cut off"},
		{"name beyond the section", module([]byte{0, 2, 9, 'x'}), testManifest, ErrModule, "cut off"},
		{"someone else's belay section", module(customSection("belay.tier", []byte("trusted"))), testManifest, ErrModule,
			"belay's own"},
		{"no manifest", emptyModule, "", ErrSource, "manifest"},
		{"unknown member", emptyModule, `{"abi":1,"name":"t","phases":["pre_tool"],"version":"1.0.0","tier":"trusted"}`,
			ErrSource, "/tier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := Pack(c.module, []byte(c.manifest))
			if !errors.Is(err, c.class) || out != nil || !bytes.Contains([]byte(err.Error()), []byte(c.text)) {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
}

// Whatever the bytes, Pack answers, and packing its result again gives the
// same.
func TestPackProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "sections")
		packed, err := Pack(module(b), []byte(testManifest))
		if err != nil {
			return
		}
		again, err := Pack(packed, []byte(testManifest))
		if err != nil || !bytes.Equal(packed, again) {
			t.Fatalf("%q became %q (%v)", packed, again, err)
		}
	})
}

func FuzzPack(f *testing.F) {
	f.Add(emptyModule)
	f.Add(module(customSection("belay.manifest", []byte("{}")), []byte{1, 1, 0}))
	f.Add(module([]byte{0, 0x80, 0x80, 0x80, 0x80, 0x10}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if packed, err := Pack(b, []byte(testManifest)); err == nil && !bytes.HasSuffix(packed, []byte(testManifest)) {
			t.Errorf("%q has no manifest at its end", packed)
		}
	})
}
