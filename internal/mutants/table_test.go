package mutants

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root  = "../.."
	table = root + "/internal/mutants/defences.yaml"
)

// TestEveryEntryHasItsPlace: each entry of the table names a place that the code has exactly once, and a test
// that there is. Whether the test fails without the defence is found out by `make test-mutants`.
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

// withoutEntry are rows of the threat model, by the words that they begin with, that no change of one place
// shows, and why.
var withoutEntry = map[string]string{
	"a deletion in code that a command gives":     "it stands in a module that is committed compiled; the tests run its cases",
	"the runtime's own client asking the process": "what stands against it is what the documents register; the tests read them, and run the client",
}

var proof = regexp.MustCompile("`([a-z0-9._/-]*)[./](Test[A-Za-z0-9_]+)`|`([a-z0-9._/-]+\\.txtar)`")

// TestEveryThreatHasADefence: of the tests that a row of the threat model names, one or more are in the table, where
// they have to fail when the defence is gone.
func TestEveryThreatHasADefence(t *testing.T) {
	all, err := ReadDefences(table)
	if err != nil {
		t.Fatal(err)
	}
	proven := map[string]bool{}
	for n := range all {
		folder, name, _ := strings.Cut(all[n].Test, "/Test")
		if name != "" {
			name, _, _ = strings.Cut(name, "/")
			proven[filepath.Clean(folder)+"/Test"+name] = true
			continue
		}
		proven[all[n].Test] = true
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/THREAT-MODEL.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, used := 0, map[string]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		found := proof.FindAllStringSubmatch(line, -1)
		if !strings.HasPrefix(line, "| ") || len(found) == 0 {
			continue
		}
		rows++
		ok := false
		for _, m := range found {
			ok = ok || proven[m[3]] || m[2] != "" && proven[filepath.Clean("./"+m[1])+"/"+m[2]]
		}
		for row := range withoutEntry {
			if strings.HasPrefix(line, "| "+row) {
				if ok {
					t.Errorf("THREAT-MODEL.md:%d: %q has an entry after all", n+1, row)
				}
				ok, used[row] = true, true
			}
		}
		if !ok {
			t.Errorf("THREAT-MODEL.md:%d: no entry of the table switches off what stands against: %.80s", n+1, line)
		}
	}
	for row := range withoutEntry {
		if !used[row] {
			t.Errorf("no row begins with %q", row)
		}
	}
	if rows < 60 {
		t.Errorf("only %d rows were seen", rows)
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
