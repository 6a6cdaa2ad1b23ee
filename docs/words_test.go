package docs_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/prose"
)

// vague are words that hide who acts, or where a thing is stored. CONTRIBUTING.md has the rule.
var vague = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|anybody|on record|on file)\b`)

// unswept are folders whose comments still have such words; below them, too, with "/...".
var unswept = []string{
	"hooks-sdk/go", // its files are in the digests of the examples
}

// TestCommentsNameWhoActs: no comment of a Go file hides who acts.
func TestCommentsNameWhoActs(t *testing.T) {
	files := 0
	for _, path := range goFiles(t) {
		if swept(filepath.Dir(path)) {
			files++
			for _, c := range tokens(t, path, token.COMMENT) {
				if word := vague.FindString(c.text); word != "" {
					t.Errorf("%s:%d: a comment says %q: name who acts", path, c.line, word)
				}
			}
		}
	}
	if files < 300 {
		t.Errorf("only %d files were read", files)
	}
}

// TestMessagesNameWhoAct: no string of a Go file that is no test hides who acts, or says a common thing in an uncommon
// way: messages, help, reasons.
func TestMessagesNameWhoAct(t *testing.T) {
	count := 0
	for _, path := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, text := range tokens(t, path, token.STRING) {
			count++
			if word := prose.VagueWord(text.text); word != "" && !ownRules(path) {
				t.Errorf("%s:%d: a message says %q: CONTRIBUTING.md has the word to say", path, text.line, word)
			}
		}
	}
	if count < 3000 {
		t.Errorf("only %d strings were read", count)
	}
}

// ownRules reports whether the file holds the words that are refused.
func ownRules(path string) bool { return path == "internal/prose/sentences.go" }

// TestScriptsSayWhereThingsAre: testscripts, and the descriptions of the daemon's routes, say that something is logged
// or stored, in these words.
func TestScriptsSayWhereThingsAre(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "cmd", "internal", "*", "testdata", "script", "*.txtar"))
	if err != nil || len(files) < 80 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range append(files, filepath.Join(root, "cmd", "internal", "server", "openapi.json")) {
		rel, _ := filepath.Rel(root, file)
		for i, line := range strings.Split(read(t, rel), "\n") {
			if word := vague.FindString(line); word != "" && strings.HasPrefix(strings.ToLower(word), "on ") {
				t.Errorf("%s:%d: it says %q: CONTRIBUTING.md has the word to say", rel, i+1, word)
			}
		}
	}
}

// TestPagesNameWhoActs: no page hides who acts. Code, and words in backquotes, are left
// alone.
func TestPagesNameWhoActs(t *testing.T) {
	for _, page := range pages(t) {
		text := quoted.ReplaceAllString(fenced.ReplaceAllStringFunc(read(t, page), blank), "")
		for i, line := range strings.Split(text, "\n") {
			if word := vague.FindString(line); word != "" {
				t.Errorf("%s:%d: the page says %q: name who acts", page, i+1, word)
			}
		}
	}
}

// blank keeps only the line ends of a text.
func blank(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

func swept(dir string) bool {
	for _, u := range unswept {
		if sub, ok := strings.CutSuffix(u, "/..."); dir == u || ok && (dir == sub || strings.HasPrefix(dir, sub+"/")) {
			return false
		}
	}
	return true
}

type found struct {
	line int
	text string
}

// tokens returns the tokens of a kind of a Go file.
func tokens(t *testing.T, path string, kind token.Token) (out []found) {
	src := []byte(read(t, path))
	files := token.NewFileSet()
	file := files.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == kind {
			out = append(out, found{files.Position(pos).Line, lit})
		}
	}
}

// goFiles are the Go files of the module and of the SDKs, relative to the root.
func goFiles(t *testing.T) (out []string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && name != ".." &&
			(strings.HasPrefix(name, ".") || name == "bin" || name == "node_modules") {
			return filepath.SkipDir
		}
		if rel, _ := filepath.Rel(root, path); strings.HasSuffix(rel, ".go") {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
