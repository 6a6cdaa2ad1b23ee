package cover_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/cover"
)

// A module that is broken or hostile gives fewer names and lines, never a
// panic; counted regions stay counted.
func FuzzNew(f *testing.F) {
	files, err := filepath.Glob("../../internal/suite/testdata/guests/*.wasm")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	// A custom section .debug_line and friends with nothing in them.
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\x0c\x0b.debug_line\x00\x0c\x0b.debug_info\x00\x0e\x0d.debug_abbrev"))
	f.Fuzz(func(t *testing.T, file []byte) {
		p := cover.New(file,
			[]cover.Region{{Func: 2, End: 4, Hit: true}, {Func: 2, Start: 4, End: 9}, {Func: 1 << 31, End: 1}})
		if p.Regions != 3 || p.Hit != 1 || len(p.Funcs) != 2 {
			t.Errorf("%+v", p)
		}
	})
}

func TestNames(t *testing.T) {
	file, err := os.ReadFile("../../internal/suite/testdata/guests/asks.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p := cover.New(file, []cover.Region{{Func: 8, End: 1}, {Func: 10, End: 1}})
	if p.Funcs[0].Name != "note_errno" || p.Funcs[1].Name != "pre_tool" {
		t.Errorf("%+v", p.Funcs)
	}
}
