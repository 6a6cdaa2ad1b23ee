// Package docs_test holds the documents against the tree: what they name is there.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = ".."

// pages are the documents that people read, relative to the root.
func pages(t *testing.T) []string {
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples-rules/*.md", "examples-wasm/*.md",
		"examples-wasm/*/*.md",
		"bench/*.md", "harness/conformance/rules/*.md", "hooks-sdk/*.md",
		"hooks-sdk/*/*.md", "deploy/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rel, _ := filepath.Rel(root, f)
			out = append(out, rel)
		}
	}
	if len(out) < 8 {
		t.Fatalf("only %d pages found", len(out))
	}
	return out
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notWord = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
)

// TestLinksResolve: every link between the documents leads to a file, and to a
// heading where it names one.
func TestLinksResolve(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text := fenced.ReplaceAllString(read(t, page), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
				continue
			}
			if fragment != "" && !anchors(read(t, to))[fragment] {
				t.Errorf("%s: %s has no heading %q", page, to, fragment)
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were seen", links)
	}
}

// anchors are the names that headings can be linked by.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		s := notWord.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		out[strings.ReplaceAll(s, " ", "-")] = true
	}
	return out
}

var (
	quoted = regexp.MustCompile("`([^`\n]+)`")
	// A path has a directory of ours or an ending of ours; what stands in the state
	// directory and patterns are none.
	pathForm = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?$`)
	ending   = regexp.MustCompile(`\.(go|md)$`)
)

// TestArchitectureNamesWhatExists: every file and folder that ARCHITECTURE.md names
// is there. A file named without a folder stands in the one named before it, or
// anywhere that was named.
func TestArchitectureNamesWhatExists(t *testing.T) {
	text := fenced.ReplaceAllString(read(t, "docs/ARCHITECTURE.md"), "")
	folders := []string{"."}
	checked := 0
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if !pathForm.MatchString(name) {
			continue
		}
		top, _, nested := strings.Cut(name, "/")
		if nested {
			if _, err := os.Stat(filepath.Join(root, top)); err != nil && !ending.MatchString(name) {
				if !existsIn(folders, name) && !strings.Contains("blobs cache keys", top) {
					t.Errorf("`%s` does not exist", name)
				}
				continue
			}
		} else if !ending.MatchString(name) {
			continue
		}
		checked++
		if !existsIn(folders, name) {
			t.Errorf("`%s` does not exist in any folder named before it", name)
			continue
		}
		if dir := filepath.Dir(name); dir != "." {
			folders = append(folders, dir)
		}
		if !ending.MatchString(name) {
			folders = append(folders, strings.TrimSuffix(name, "/"))
		}
	}
	if checked < 40 {
		t.Errorf("only %d paths were seen", checked)
	}
}

var declared = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.go)` \\(`([A-Za-z0-9_]+)`\\)")

// TestArchitectureNamesWhereItIs: a function that ARCHITECTURE.md names behind a file
// is declared in that file.
func TestArchitectureNamesWhereItIs(t *testing.T) {
	checked := 0
	for _, m := range declared.FindAllStringSubmatch(read(t, "docs/ARCHITECTURE.md"), -1) {
		checked++
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + m[2] + `\(`).MatchString(read(t, m[1])) {
			t.Errorf("`%s` is not declared in `%s`", m[2], m[1])
		}
	}
	if checked < 4 {
		t.Errorf("only %d functions were seen", checked)
	}
}

var (
	testName = regexp.MustCompile("`([a-z0-9./-]*)[./]((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	script   = regexp.MustCompile("`([a-z0-9./_-]+\\.txtar)`")
)

// TestThreatsAreProven: every row of the threat model names a test, and every test
// that it names exists in the package that it names.
func TestThreatsAreProven(t *testing.T) {
	text := read(t, "docs/THREAT-MODEL.md")
	proofs := 0
	for i, line := range strings.Split(text, "\n") {
		tests, scripts := testName.FindAllStringSubmatch(line, -1), script.FindAllStringSubmatch(line, -1)
		proofs += len(tests) + len(scripts)
		for _, m := range tests {
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("THREAT-MODEL.md:%d: there is no %s in folder %q", i+1, m[2], m[1])
			}
		}
		for _, m := range scripts {
			if !existsIn([]string{"."}, m[1]) {
				t.Errorf("THREAT-MODEL.md:%d: there is no %s", i+1, m[1])
			}
		}
		row := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| attack |") && strings.Count(line, "|") == 4
		if row && len(tests)+len(scripts) == 0 {
			t.Errorf("THREAT-MODEL.md:%d: nothing shows that %s", i+1, line)
		}
	}
	if proofs < 100 {
		t.Errorf("only %d proofs were seen", proofs)
	}
}

// ofTheSameUser is in rows about what a program of the daemon's own user could do, and about what stays open.
var ofTheSameUser = regexp.MustCompile(`(?i)same uid|same user|uid's own|not prevented|not closed|\(C, O\)`)

// TestRowsOfTheSameUserSayTheMode: a row of the threat model that rests on the uid, or leaves something open, says in
// which mode that is closed.
func TestRowsOfTheSameUserSayTheMode(t *testing.T) {
	rows := 0
	for i, line := range strings.Split(read(t, "docs/THREAT-MODEL.md"), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.Count(line, "|") != 4 || !ofTheSameUser.MatchString(line) {
			continue
		}
		rows++
		if !strings.Contains(line, "system mode") && !strings.Contains(line, "every mode") {
			t.Errorf("THREAT-MODEL.md:%d: it does not say in which mode this is closed: %.120s", i+1, line)
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were seen", rows)
	}
}

// hasTest reports whether a test or fuzz target stands in a folder, whatever it is
// built for.
func hasTest(t *testing.T, folder, name string) bool {
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func existsIn(folders []string, name string) bool {
	for _, f := range folders {
		if found, _ := filepath.Glob(filepath.Join(root, f, name)); len(found) > 0 {
			return true
		}
	}
	return false
}

func read(t *testing.T, page string) string {
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
