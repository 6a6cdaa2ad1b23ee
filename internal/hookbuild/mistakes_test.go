package hookbuild

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Each file of testdata/mistakes is a hook with a mistake, and what its author reads. `new LANG` in the comment begins
// with the hook of `belay hook new`; a file "before/NAME" is put before what the file NAME has. Written anew by -update.
func TestMistakes(t *testing.T) {
	all, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(all) < 13 {
		t.Fatal(all, err)
	}
	for _, file := range all {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"CI", "FORCE_COLOR", "CLICOLOR_FORCE"} { // as on a build server
				t.Setenv(name, "1")
			}
			dir := mistake(t, a)
			_, err = Build(t.Context(), dir, Options{StandardGo: true})
			var r *Refusal
			if !errors.Is(err, ErrCompile) || !errors.As(err, &r) {
				t.Fatalf("got %v", err)
			}
			list, err := json.Marshal(r.Errors, jsontext.WithIndent("  "))
			if err != nil {
				t.Fatal(err)
			}
			got := err2text(dir, r.Error()+"\n  "+r.Next+"\n"+string(list)+"\n")
			last := &a.Files[len(a.Files)-1]
			if last.Name != "want" {
				t.Fatalf("it ends with %s", last.Name)
			}
			if *update {
				last.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(last.Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			whole, err := os.ReadFile(filepath.Join(dir, "build", outputFile))
			if len(r.Errors) == 0 {
				t.Fatal("no error has a place")
			}
			if first, _, _ := strings.Cut(r.Errors[0].Message, ":"); err != nil || len(whole) < len(first) {
				t.Errorf("the whole output: %q, %v", whole, err)
			}
		})
	}
}

func err2text(dir, text string) string {
	return strings.ReplaceAll(text, filepath.ToSlash(dir)+"/", "")
}

// mistake makes the directory of a hook with a mistake.
func mistake(t *testing.T, a *txtar.Archive) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "guard")
	_, lang, isNew := strings.Cut(string(a.Comment), "\nnew ")
	lang = strings.TrimSpace(lang)
	if isNew {
		if err := New(dir, "guard", lang); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range a.Files[:len(a.Files)-1] {
		name, before := strings.CutPrefix(f.Name, "before/")
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		content := f.Data
		if before {
			there, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			content = append(content, there...)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !isNew {
		lang, _ = Detect(dir)
	}
	if m := Missing(lang); m != "" {
		t.Fatalf("%s; scripts/setup installs it", m)
	}
	return dir
}

// A mistake before the header that belay brings shows in that header: the author reads which macro it is by.
func TestMistakeBeforeTheHeader(t *testing.T) {
	if m := Missing("c"); m != "" {
		t.Fatalf("%s; scripts/setup installs it", m)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"belay.yaml": testSource, "hook.c": "#define BELAY_DENIED 3 3\n#include \"belay.h\"\n"})
	_, err := Build(t.Context(), dir, Options{})
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatal(err)
	}
	first := r.Errors[0]
	if !strings.HasSuffix(first.File, "/build/include/belay.h") || first.Line == 0 ||
		!strings.HasSuffix(first.Message, ", by the macro BELAY_DENIED of hook.c:1:22") ||
		!strings.Contains(r.Next, "Look at what the hook defines before it includes that file") {
		t.Errorf("%+v\n%s", first, r.Next)
	}
}
