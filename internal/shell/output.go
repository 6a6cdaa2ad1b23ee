package shell

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// output computes what statements write to standard output, where that follows
// from the text alone. It knows only programs whose output is a function of
// their arguments and input; anything else is not known.
func (w *walker) output(e *env, list []*syntax.Stmt, stdin *string, depth int) (string, bool) {
	if depth > 6 {
		return "", false
	}
	var out strings.Builder
	for _, s := range list {
		got, ok := w.stmtOutput(e, s, stdin, depth)
		if !ok || out.Len()+len(got) > MaxWordText {
			return "", false
		}
		out.WriteString(got)
	}
	return out.String(), true
}

func (w *walker) stmtOutput(e *env, s *syntax.Stmt, stdin *string, depth int) (string, bool) {
	if !w.step() || s.Background || s.Coprocess || s.Negated || s.Disown {
		return "", false
	}
	for _, r := range s.Redirs {
		switch {
		case r.Op == syntax.WordHdoc, r.Op == syntax.Hdoc && r.Hdoc != nil:
			var t Word
			if r.Op == syntax.WordHdoc {
				t = w.literal(e, r.Word)
				t.Text += "\n"
			} else if quotedDelimiter(r.Word) {
				t = Word{Text: verbatim(r.Hdoc), Known: true}
			} else {
				t = w.document(e, r.Hdoc)
			}
			if !t.Known {
				return "", false
			}
			stdin = &t.Text
		case r.N != nil && r.N.Value == "2": // errors go elsewhere
		default:
			return "", false
		}
	}
	switch x := s.Cmd.(type) {
	case *syntax.Block:
		return w.output(e, x.Stmts, stdin, depth+1)
	case *syntax.Subshell:
		return w.output(e.clone(), x.Stmts, stdin, depth+1)
	case *syntax.BinaryCmd:
		switch x.Op {
		case syntax.Pipe:
			left, ok := w.stmtOutput(e.clone(), x.X, stdin, depth+1)
			if !ok {
				return "", false
			}
			return w.stmtOutput(e.clone(), x.Y, &left, depth+1)
		case syntax.AndStmt:
			left, ok := w.stmtOutput(e, x.X, stdin, depth+1)
			if !ok {
				return "", false
			}
			right, ok := w.stmtOutput(e, x.Y, stdin, depth+1)
			return left + right, ok
		}
	case *syntax.CallExpr:
		if len(x.Args) == 0 {
			for _, a := range x.Assigns {
				w.assign(e, a)
			}
			return "", true
		}
		words, open := w.fields(e, x.Args)
		if len(words) == 0 || (open || !allKnown(words)) && !printable(words) {
			return "", false
		}
		for i := range words {
			if words[i].holes != "" {
				words[i].Text = words[i].holes
			}
		}
		if w.funcs[words[0].Text] != nil {
			return "", false
		}
		args := texts(words)
		return w.program(e, nameOf(words[0]), args[1:], words[1:], stdin)
	}
	return "", false
}

// program is the output of one known program.
func (w *walker) program(e *env, name string, args []string, words []Word, stdin *string) (string, bool) {
	in := ""
	if stdin != nil {
		in = *stdin
	}
	switch name {
	case ":", "true", "cd", "pwd", "echo", "printf", "which", "cat", "tee":
	default:
		if n := len(args); stdin == nil && n > 0 && !strings.HasPrefix(args[n-1], "-") { // a file that the text wrote
			if f := w.fileOf(e, words[n-1]); f != nil {
				in, stdin, args = f.text, &f.text, args[:n-1]
			}
		}
		if marked(in) || slices.ContainsFunc(args, marked) || hasHole(in) || slices.ContainsFunc(args, hasHole) {
			return "", false
		}
	}
	switch name {
	case ":", "true":
		return "", true
	case "cd":
		w.chdir(e, words, false)
		return "", e.cwd.Known
	case "pwd":
		if e.cwd == nil {
			return hereMark + "\n", true
		}
		if !e.cwd.Known {
			return "", false
		}
		return e.cwd.Text + "\n", true
	case "echo":
		return echo(args)
	case "printf":
		return printf(args)
	case "which", "type", "command":
		if name == "which" && len(args) == 1 {
			return args[0] + "\n", true
		}
		if len(args) == 2 && (args[0] == "-v" && name == "command" || args[0] == "-P" || args[0] == "-p") {
			return args[1] + "\n", true
		}
		return "", false
	case "basename":
		if len(args) == 1 {
			return path.Base(args[0]) + "\n", true
		}
		return "", false
	case "dirname":
		if len(args) == 1 {
			return path.Dir(strings.TrimRight(args[0], "/")) + "\n", true
		}
		return "", false
	}
	if name == "cat" && len(args) > 0 {
		all := ""
		for k := range args {
			f := w.fileOf(e, words[k])
			if f == nil && !(args[k] == "-" && stdin != nil) {
				return "", false
			} else if f == nil {
				all += in
			} else {
				all += f.text
			}
		}
		return all, len(all) <= MaxWordText
	}
	if stdin == nil {
		return "", false
	}
	switch name {
	case "cat", "tee":
		return in, len(args) == 0 || len(args) == 1 && args[0] == "-"
	case "rev":
		var b strings.Builder
		for _, line := range strings.SplitAfter(in, "\n") {
			body, nl := strings.CutSuffix(line, "\n")
			r := []rune(body)
			for i := len(r) - 1; i >= 0; i-- {
				b.WriteRune(r[i])
			}
			if nl {
				b.WriteByte('\n')
			}
		}
		return b.String(), len(args) == 0
	case "tr":
		return translate(args, in)
	case "base64", "gbase64", "base32", "basenc", "openssl", "xxd":
		return decode(name, args, in)
	}
	return "", false
}

func echo(args []string) (string, bool) {
	newline, escapes := true, false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		newline = newline && !strings.Contains(args[0], "n")
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	out := strings.Join(args, " ")
	if !escapes && escaped(out) {
		return "", false // sh and bash differ
	}
	if escapes {
		s, _, err := expand.Format(nil, strings.ReplaceAll(out, "%", `\045`), nil)
		if err != nil {
			return "", false
		}
		out = s
	}
	if newline {
		out += "\n"
	}
	return out, utf8.ValidString(out)
}

// escaped reports a backslash that some echo takes for more than that.
func escaped(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '\\' && strings.IndexByte(`abcefnrtvxuUE0123456789\`, s[i+1]) >= 0 {
			return true
		}
	}
	return false
}

func printf(args []string) (string, bool) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "", false
	}
	if strings.Contains(args[0], "%b") {
		var ok bool
		if args, ok = unescaped(args); !ok {
			return "", false
		}
	}
	for _, c := range strings.Split(args[0], "%")[1:] { // widths could ask for gigabytes
		if strings.Trim(c[:min(len(c), 1)], "sbdcxXou%") != "" {
			return "", false
		}
	}
	format, rest := args[0], args[1:]
	var b strings.Builder
	for first := true; first || len(rest) > 0; first = false {
		s, n, err := expand.Format(nil, format, rest)
		if err != nil || b.Len()+len(s) > MaxWordText {
			return "", false
		}
		b.WriteString(s)
		if n == 0 {
			break
		}
		rest = rest[min(n, len(rest)):]
	}
	return b.String(), utf8.ValidString(b.String())
}

// zeroOctal finds the octal numbers of %b, which begin with \0 and have up to three digits more.
var zeroOctal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\0([0-7]{1,3})`) })

// unescaped gives printf %s in place of %b: its arguments with the escapes in them expanded.
func unescaped(args []string) ([]string, bool) {
	if strings.Count(args[0], "%b") != strings.Count(strings.ReplaceAll(args[0], "%%", ""), "%") {
		return nil, false
	}
	out := []string{strings.ReplaceAll(args[0], "%b", "%s")}
	for _, a := range args[1:] {
		if strings.Contains(a, `\c`) { // ends all output
			return nil, false
		}
		a = zeroOctal().ReplaceAllString(strings.ReplaceAll(a, "%", "%%"), `\$1`)
		s, _, err := expand.Format(nil, a, nil)
		if err != nil || len(s) > MaxWordText {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func translate(args []string, in string) (string, bool) {
	if len(args) == 2 && args[0] == "-d" {
		set, ok := trSet(args[1])
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(set, r) {
				return -1
			}
			return r
		}, in), ok
	}
	if len(args) != 2 || strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		return "", false
	}
	from, ok1 := trSet(args[0])
	to, ok2 := trSet(args[1])
	if !ok1 || !ok2 || to == "" {
		return "", false
	}
	f, t := []rune(from), []rune(to)
	return strings.Map(func(r rune) rune {
		for i := len(f) - 1; i >= 0; i-- {
			if f[i] == r {
				return t[min(i, len(t)-1)]
			}
		}
		return r
	}, in), true
}

// trSet reads a set of tr: characters, ranges and a few escapes and classes. Other escapes are not known, and neither
// is a range that runs backwards.
func trSet(s string) (string, bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			if i++; i == len(s) || !strings.ContainsRune(`ntr\`, rune(s[i])) {
				return "", false
			}
		}
	}
	s = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\\`, `\`, "[:upper:]", "A-Z", "[:lower:]", "a-z",
		"[:digit:]", "0-9", "[:space:]", " \t\n\r\v\f").Replace(s)
	if strings.Contains(s, "[:") || strings.Contains(s, "[=") {
		return "", false
	}
	r := []rune(s)
	var b strings.Builder
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' {
			if r[i] > r[i+2] || r[i+2]-r[i] >= 256 {
				return "", false
			}
			for c := r[i]; c <= r[i+2]; c++ {
				b.WriteRune(c)
			}
			i += 2
			continue
		}
		b.WriteRune(r[i])
	}
	return b.String(), true
}

func decode(name string, args []string, in string) (string, bool) {
	all := " " + strings.Join(args, " ") + " "
	has := func(opts ...string) bool {
		for _, o := range opts {
			if strings.Contains(all, " "+o+" ") {
				return true
			}
		}
		return false
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && name != "openssl" {
			return "", false // a file
		}
	}
	text := strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\r' || r == '\t' {
			return -1
		}
		return r
	}, in)
	var out []byte
	var err error
	switch {
	case name == "xxd" && has("-r") && has("-p"),
		name == "basenc" && has("--base16") && has("-d", "--decode"):
		out, err = hex.DecodeString(text)
	case name == "base32" && has("-d", "--decode", "-D"), name == "basenc" && has("--base32") && has("-d",
		"--decode"):
		out, err = base32.StdEncoding.DecodeString(text)
	case (name == "base64" || name == "gbase64") && has("-d", "--decode", "-D", "-di", "-id"),
		name == "basenc" && has("--base64") && has("-d", "--decode"),
		name == "openssl" && has("base64", "enc") && has("-d") && (has("base64") || has("-base64", "-a")) &&
			!has("-in") &&
			!strings.Contains(all, "aes"):
		out, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	case (name == "base64" || name == "gbase64") && len(args) == 0:
		return base64.StdEncoding.EncodeToString([]byte(in)) + "\n", true
	default:
		return "", false
	}
	return string(out), err == nil && utf8.Valid(out)
}
