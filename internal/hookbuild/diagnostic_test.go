package hookbuild

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What compilers that are not installed where this runs say, or say only by chance.
func TestReadersOfRecordedOutput(t *testing.T) {
	for _, c := range []struct {
		name string
		find finder
		said string
		want []Diagnostic
	}{
		// TinyGo is in no package that scripts/setup installs. These are written by the rules of its package diagnostics:
		// a line # PACKAGE, then POSITION: MESSAGE with the file from the working directory, or a message alone.
		{"TinyGo: types", readGo, "# example.invalid/guard\nmain.go:7:9: undefined: nonsense\n" +
			"main.go:10:42: too many arguments in call to two\n\thave (string, number)\n\twant (int)\n", []Diagnostic{
			{"main.go", 7, 9, "undefined: nonsense"},
			{"main.go", 10, 42, "too many arguments in call to two\n\thave (string, number)\n\twant (int)"}}},
		{"TinyGo: a syntax error in the SDK", readGo,
			"# github.com/belay-hooks/belay/hooks-sdk/go\nsdk/effects.go:1:1: expected 'package', found 'func'\n",
			[]Diagnostic{{"sdk/effects.go", 1, 1, "expected 'package', found 'func'"}}},
		{"TinyGo: the linker", readGo, "tinygo:wasm-ld: error: /tmp/tinygo1/main.o: undefined symbol: main.other\n",
			[]Diagnostic{{"", 0, 0, "undefined symbol: main.other"}}},
		{"TinyGo: no place", readGo, "error: requires go version 1.19 through 1.25, got go1.26\n", nil},

		{"clang: a header that is not there, on Windows", readErrors,
			"C:\\hook\\hook.c:1:10: fatal error: 'none.h' file not found\r\n    1 | #include \"none.h\"\r\n",
			[]Diagnostic{{"C:\\hook\\hook.c", 1, 10, "'none.h' file not found"}}},
		{"clang: warnings are no errors", readErrors, "hook.c:3:7: warning: unused variable 'x' [-Wunused-variable]\n", nil},
		{"wasm-ld: a symbol twice", readErrors, "wasm-ld-19: error: duplicate symbol: f\n>>> defined in /tmp/a-1.o\n",
			[]Diagnostic{{"", 0, 0, "duplicate symbol: f"}}},
		{"asc: in its own library", readAS, "ERROR TS2322: Type 'i32' is not assignable to type 'string'.\n     :\n" +
			" 88 │ return 1;\n    │        ~\n    └─ in ~lib/array.ts(88,12)\n     :\n  3 │ f();\n    │ ~\n" +
			"    └─ in assembly/index.ts(3,1)\n\nFAILURE 1 compile error(s)\n",
			[]Diagnostic{{"assembly/index.ts", 3, 1, "Type 'i32' is not assignable to type 'string' (TS2322)"}}},
		{"asc: without a place", readAS, "ERROR AS111: Element 'sdk/abort/abort' not found.\n\nFAILURE 1 compile error(s)\n",
			[]Diagnostic{{"", 0, 0, "Element 'sdk/abort/abort' not found (AS111)"}}},
		{"cargo: no manifest", readRust, "error: could not find `Cargo.toml` in `/hook` or any parent directory\n",
			[]Diagnostic{{"Cargo.toml", 0, 0, "could not find `Cargo.toml` in `/hook` or any parent directory"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []Diagnostic
			for _, f := range c.find(&job{dir: t.TempDir()}, "", c.said) {
				got = append(got, f.Diagnostic)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Older rustc write the paths of other crates as remapped has made them.
func TestRustPathsAreFilesAgain(t *testing.T) {
	dir := t.TempDir()
	j := &job{dir: filepath.Join(dir, "guard"), crates: map[string]string{"belay-hook": filepath.Join(dir, "sdk")}}
	out := `{"reason":"compiler-message","message":{"level":"error","message":"bad","code":null,"rendered":"error: bad\n",` +
		`"spans":[{"file_name":"/belay-hook/src/lib.rs","line_start":3,"column_start":5,"is_primary":true,"label":null}]}}` + "\n"
	got := readRust(j, out, "")
	if len(got) != 1 || got[0].Diagnostic != (Diagnostic{"../sdk/src/lib.rs", 3, 5, "bad"}) {
		t.Errorf("%+v", got)
	}
	if text := rendered(out, "warning: note"); text != "error: bad\n\nwarning: note" {
		t.Errorf("%q", text)
	}
}

func TestColumnsAreCharacters(t *testing.T) {
	for _, c := range []struct {
		line   string
		column int
		unit   unit
		want   int
	}{
		{"abc", 2, inBytes, 2}, {"abc", 0, inBytes, 0}, {"éx", 3, inBytes, 2}, {"éx", 2, inCharacters, 2},
		{"éx", 2, inUTF16, 2},
		{"😀x", 5, inBytes, 2}, {"😀x", 3, inUTF16, 2}, {"\t\tx", 3, inBytes, 3}, {"ab", 3, inBytes, 3},
		{"\xffx", 2, inBytes, 2},
	} {
		if got := characters(c.line, c.column, c.unit); got != c.want {
			t.Errorf("%q %d: %d, want %d", c.line, c.column, got, c.want)
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	line := strings.Repeat("a", 200) + "X" + strings.Repeat("b", 200)
	text := placed{Diagnostic: Diagnostic{"f.c", 7, 201, "m"}, source: line}.text()
	lines := strings.Split(text, "\n")
	if len(lines) != 3 || lines[0] != "f.c:7:201: m" || len([]rune(lines[1])) != len("  7 | ")+maxShown {
		t.Fatalf("%q", lines)
	}
	at := strings.IndexByte(lines[2], '^')
	if r := []rune(lines[1]); at < 0 || r[at] != 'X' {
		t.Errorf("the caret is below another character:\n%s", text)
	}
	for _, column := range []int{0, 1, 401, 402, 5000} {
		_ = placed{Diagnostic: Diagnostic{"f.c", 7, column, "m"}, source: line}.text() // does not panic
	}
	if got := (placed{Diagnostic: Diagnostic{"f.c", 7, 4, "m"}, source: "a;"}).text(); got != "f.c:7:4: m\n  7 | a;" {
		t.Errorf("a column beyond the line: %q", got)
	}
	if got := (placed{Diagnostic: Diagnostic{"f.c", 7, 3, "m"},
		source: "a;"}).text(); got != "f.c:7:3: m\n  7 | a; \n    |   ^" {
		t.Errorf("behind the line: %q", got)
	}
}

// Output in which no error is found is shown from its begin, and is whole in the file.
func TestOutputWithoutPlaces(t *testing.T) {
	dir := t.TempDir()
	j := &job{dir: dir, work: filepath.Join(dir, "build"), shown: "hook", keeps: true, lang: "go"}
	if err := os.Mkdir(j.work, 0o755); err != nil {
		t.Fatal(err)
	}
	whole := "first" + strings.Repeat("x", 500) + strings.Repeat("\nline", 40)
	err := j.refuse("tinygo", whole, nil, nil)
	if lines := strings.Split(err.Error(), "\n"); lines[0] != "tinygo failed:" || len(lines) != linesAsText+2 ||
		len([]rune(lines[1])) != maxLineAsText+1 {
		t.Errorf("%s", err)
	}
	if got, err := os.ReadFile(filepath.Join(j.work, outputFile)); err != nil || string(got) != whole+"\n" {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Whatever a program writes, its errors have places that can be shown.
func FuzzReaders(f *testing.F) {
	f.Add("main.go:7:9: undefined: nonsense\n\tmore\nerror: x\n at line 1 column 99999999999999999999")
	f.Add("hook.c:1:99: error: x\nhook.c:1:1: note: expanded from macro 'm'\nwasm-ld: error: a.o: undefined symbol: f(")
	f.Add("ERROR TS1: x.\n   └─ in ~lib/a.ts(0,0)\n   └─ in hook.c(2,3)\nAsconfig is not valid json")
	f.Add(`{"reason":"compiler-message","message":{"level":"error","spans":[{"file_name":"/a/b","is_primary":true}]}}`)
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hook.c"), []byte("é\xff\t😀\nint f(void);"), 0o644); err != nil {
		f.Fatal(err)
	}
	j := &job{dir: dir, work: dir, shown: ".", lang: "c", crates: map[string]string{"a": dir}}
	f.Fuzz(func(t *testing.T, said string) {
		for _, find := range []finder{readErrors, readGo, readRust, readAS} {
			list := find(j, said, said)
			for _, f := range list {
				p := j.place(f)
				if text := p.text(); !strings.Contains(text, p.Message) || p.Line < 0 || p.Column < 0 {
					t.Errorf("%+v: %q", p, text)
				}
			}
		}
	})
}
