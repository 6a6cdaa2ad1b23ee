package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// In messages a command stands in backquotes; without them only what begins with a group
// of commands is taken for one.
var (
	quotedCommand = regexp.MustCompile("`belay ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)*)")
	plainCommand  = regexp.MustCompile(
		`\bbelay ((?:hook|events|trust|latch|lease|approvals|reviewer|config|record) [a-z][a-z-]*)`)
)

// notHints are words that follow the name and are no command to type.
var notHints = map[string]string{
	"compile-module":     "what belay starts for itself, before any command is looked for",
	"approval decision":  "what is signed begins with it",
	"reviewer statement": "what is signed begins with it",
	"lease token":        "what is hashed begins with it",
}

// A hint that names a command names one that there is.
func TestHintsNameCommands(t *testing.T) {
	root := (&App{}).root()
	seen := 0
	each := func(at, text string) {
		for _, r := range []*regexp.Regexp{quotedCommand, plainCommand} {
			for _, m := range r.FindAllStringSubmatch(text, -1) {
				seen++
				words := strings.Fields(m[1])
				if notHints[strings.Join(words[:min(2, len(words))], " ")] != "" {
					continue
				}
				if !isCommand(root, words) {
					t.Errorf("%s: there is no command `belay %s`", at, m[1])
				}
			}
		}
	}
	top := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && path != top):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		switch filepath.Ext(path) {
		case ".md", ".tmpl", ".json", ".yaml", ".h", ".rs": // prose: only quoted text is a command
			b, err := os.ReadFile(path)
			for _, m := range quotedCommand.FindAllString(string(b), -1) {
				each(path, m)
			}
			return err
		case ".go":
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil {
						each(path, s)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil || seen < 200 {
		t.Errorf("only %d commands were looked at, %v", seen, err)
	}
}

// isCommand reports whether the words begin with a command, as far as they name one: what
// follows a command without subcommands is its arguments.
func isCommand(c *cobra.Command, words []string) bool {
	for n, w := range words {
		if !c.HasSubCommands() {
			return true
		}
		next := (*cobra.Command)(nil)
		for _, sub := range c.Commands() {
			if sub.Name() == w || sub.HasAlias(w) {
				next = sub
			}
		}
		if next == nil {
			return n > 0 && c.Runnable() && c.Args != nil && c.ValidateArgs(words[n:]) == nil
		}
		c = next
	}
	return true
}

func TestIsCommand(t *testing.T) {
	root := (&App{}).root()
	for words, want := range map[string]bool{"hook build": true, "hook": true, "hook pack": false, "hooks": false,
		"latch clear claude-code": true, "nothing": false} {
		if isCommand(root, strings.Fields(words)) != want {
			t.Errorf("%s: want %v", words, want)
		}
	}
}
