package docs_test

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	partsRow = regexp.MustCompile("(?m)^\\| (`[^|]+) \\|")
	braces   = regexp.MustCompile(`^(.*)\{(.*)\}$`)
)

// TestArchitectureRowsPointUp: in ARCHITECTURE.md's table of the parts, a package imports packages
// of its own row and of rows above it, and each package that stands in it is there.
func TestArchitectureRowsPointUp(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "docs/ARCHITECTURE.md"), "## The parts and the arrows")
	text, _, _ = strings.Cut(text, "\n## ")
	rows := map[string]int{}
	for i, m := range partsRow.FindAllStringSubmatch(text, -1) {
		for _, q := range quoted.FindAllStringSubmatch(m[1], -1) {
			names := []string{q[1]}
			if b := braces.FindStringSubmatch(q[1]); b != nil {
				names = strings.Split(b[2], ",")
				for k := range names {
					names[k] = b[1] + names[k]
				}
			}
			for _, name := range names {
				if name == "belay" {
					name = "."
				}
				rows[name] = i
			}
		}
	}
	if len(rows) < 50 {
		t.Fatalf("only %d packages were seen", len(rows))
	}
	for name, row := range rows {
		for _, to := range importsOf(t, name) {
			if at, ok := rows[to]; ok && at > row {
				t.Errorf("%s imports %s, which stands below it in ARCHITECTURE.md", name, to)
			}
		}
	}
}

// importsOf returns the packages of this module that a package imports, its tests apart.
func importsOf(t *testing.T, name string) (out []string) {
	files, _ := filepath.Glob(filepath.Join(root, name, "*.go"))
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			to, _ := strconv.Unquote(i.Path.Value)
			if rest, ok := strings.CutPrefix(to, "github.com/belay-hooks/belay"); ok {
				out = append(out, path.Clean("."+rest))
			}
		}
	}
	return out
}
