package shell

import (
	"regexp"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Bash evaluates the text of a value once more where it wants a number or the
// name of an array's element: x='a[$(cmd)]' and then ((x)), [[ x -eq 1 ]], let,
// unset, read, printf -v … all run cmd. Which value ends up where is not followed
// here. A text that has both a subscript with a substitution among its inert
// literals and something that evaluates is not known. A text put together from
// pieces ('a[$' and '(cmd)]') still passes.

// inertSubscript finds a substitution behind an opening bracket.
var inertSubscript = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)\[.*(?:\$\(|\$\{|` + "`" + `)`)
})

// evaluates finds what takes numbers or names of elements.
var evaluates = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\(\(|\$\[|\[\[|\]\+?=|\$\{|-(?:eq|ne|lt|le|gt|ge|v)\b|` +
		`\b(?:let|declare|typeset|local|readonly|export|unset|read|readarray|mapfile|printf|test|getopts|wait|for)\b`)
})

// subscripts looks through the inert literals of a text that has been read.
func (w *walker) subscripts(f *syntax.File, text string) {
	if !strings.Contains(text, "[") || !evaluates().MatchString(text) {
		return
	}
	var inert strings.Builder
	coded := false
	syntax.Walk(f, func(n syntax.Node) bool {
		if !w.pass() {
			return false
		}
		switch n := n.(type) {
		case *syntax.SglQuoted:
			inert.WriteString(n.Value)
			coded = coded || n.Dollar && strings.Contains(n.Value, `\`)
		case *syntax.Lit:
			inert.WriteString(n.Value)
		}
		return true
	})
	s := strings.ReplaceAll(inert.String(), `\`, "")
	if inertSubscript().MatchString(s) || coded && strings.Contains(s, "[") && strings.ContainsAny(s, "$`") {
		w.unknown("code", text, -1)
	}
}
