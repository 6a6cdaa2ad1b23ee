package loader

import (
	"runtime"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/phases"
)

// A file that is changed between two bindings has a digest of its own for the second.
func TestChangedFileIsHashedAgain(t *testing.T) {
	var k known
	first := []byte("the module that was bound")
	f := k.file("hook.wasm", first)
	if again := k.file("hook.wasm", append([]byte(nil), first...)); again != f {
		t.Error("the same bytes of the same name are hashed twice")
	}
	changed := append([]byte(nil), first...)
	changed[len(changed)-1] ^= 1 // as long as before
	if g := k.file("hook.wasm", changed); g.Digest() != phases.ByteDigest(changed) {
		t.Errorf("a changed file has the digest %s", g.Digest())
	}
	runtime.KeepAlive(f)
}

// A manifest is that of its file, also when the section of another one is asked about first, and a fault is not kept.
func TestManifestsAreKnownByTheirFile(t *testing.T) {
	var k known
	one, two := sandbox.NewFile([]byte("one")), sandbox.NewFile([]byte("two"))
	section := func(name string) []byte {
		return []byte(`{"abi":1,"name":"` + name + `","version":"1.0.0","phases":["pre_tool"]}`)
	}
	if _, err := k.manifest(&one, []byte("{")); err == nil {
		t.Error("no JSON, and no fault")
	}
	for name, f := range map[string]*sandbox.File{"first": &one, "second": &two} {
		m, err := k.manifest(f, section(name))
		if err != nil || m.Name != name {
			t.Errorf("%+v, %v, want %s", m, err, name)
		}
		if again, _ := k.manifest(f, section(name)); again != m {
			t.Errorf("the manifest of %s is decoded twice", name)
		}
	}
}
