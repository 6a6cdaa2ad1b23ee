package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root  = "../.."
	table = root + "/internal/mutants/defences.yaml"
)

// TestEveryEntryHasItsPlace: each entry of the table names a place that the code has exactly once, and a test that there is.
// Whether the test fails without the defence is found out by `make test-mutants`.
func TestEveryEntryHasItsPlace(t *testing.T) {
	all, err := ReadDefences(table)
	if err != nil {
		t.Fatal(err)
	}
	r, read := &Runner{Root: root}, map[string]map[string][]byte{}
	for n := range all {
		d := &all[n]
		if read[d.Package] == nil {
			if read[d.Package], err = r.Sources(d.Package); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := In(read[d.Package], d.Symbol, d.From, d.With); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		if strings.Contains(d.Test, ".txtar") {
			if _, err := os.Stat(filepath.Join(root, d.Test)); err != nil {
				t.Errorf("%s: %v", d.Name, err)
			}
		} else if !hasTest(t, d.Test) {
			t.Errorf("%s: there is no %s", d.Name, d.Test)
		}
	}
	if len(all) < 90 {
		t.Errorf("only %d entries were seen", len(all))
	}
}

// hasTest reports whether the function of FOLDER/TestName[/subtest] is there, whatever it is built for.
func hasTest(t *testing.T, test string) bool {
	folder, name, _ := strings.Cut(test, "/Test")
	name, _, _ = strings.Cut(name, "/")
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc Test"+name+"(") {
			return true
		}
	}
	return false
}
