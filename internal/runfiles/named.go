package runfiles

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/shell"
)

// namedFile is a file that a command names, and what reads it.
type namedFile struct {
	name   string
	kind   string
	wanted []string // targets of a make, scripts of a package.json
	guess  bool     // its first line names its interpreter
}

func (f namedFile) goals() string { return strings.Join(f.wanted, " ") }

// filesOf returns the files that a command would run or apply.
func filesOf(reply shell.Reply, at int) (out []namedFile) {
	c := reply.Commands[at]
	if len(c.Words) == 0 {
		return nil
	}
	args := make([]string, 0, len(c.Words))
	for _, w := range c.Words[1:] {
		args = append(args, w.Text)
	}
	add := func(kind string, names ...string) {
		for _, n := range names {
			if n != "" && n != "-" {
				out = append(out, namedFile{name: n, kind: kind})
			}
		}
	}
	kind := ""
	switch name := strings.TrimRight(c.Name, "0123456789."); {
	case slices.Contains([]string{"bash", "sh", "dash", "zsh", "ksh", "ash", "fish"}, c.Name):
		kind = kindShell
		if !hasShort(args, 'c') {
			add(kind, operands(args, "-o", "-O", "--rcfile", "--init-file", "+o", "+O")...)
			if len(out) > 1 {
				out = out[:1]
			}
		}
		add(kind, values(args, "", "--rcfile", "--init-file")...)
	case c.Name == "source" || c.Name == ".":
		add(kindShell, first(args))
	case slices.Contains([]string{"python", "node", "nodejs", "ruby", "perl", "php", "lua", "deno", "bun", "tsx",
		"ts-node",
		"pypy", "tclsh", "osascript", "Rscript", "pwsh", "expect", "ipython"}, name):
		kind = kindCode
		add(kind, codeFiles(args)...)
	case c.Name == "go" && first(args) == "run":
		for _, a := range args {
			if strings.HasSuffix(a, ".go") {
				add(kindCode, a)
			}
		}
	case slices.Contains([]string{"make", "gmake", "just"}, c.Name):
		return append(out, makeFiles(c.Name, args)...)
	case slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, c.Name):
		return append(out, packageFile(args)...)
	case c.Name == "git":
		if sub := gitSub(args); sub == "apply" || sub == "am" {
			kind = kindPatch
			for _, a := range operands(args, "-C", "-c", "-p", "--directory", "--exclude", "--include") {
				if a != sub {
					add(kind, a)
				}
			}
		}
	case c.Name == "patch":
		kind = kindPatch
		add(kind, values(args, "-i", "--input")...)
		if rest := operands(args, "-i", "-d", "-p", "-o", "-r", "-D", "-B"); len(rest) > 1 {
			add(kind, rest[1])
		}
	case c.Name == "crontab":
		kind = kindCron
		add(kind, operands(args, "-u")...)
	case c.Name == "at" || c.Name == "batch":
		kind = kindShell
		add(kind, values(args, "-f")...)
	case c.Name == "xargs":
		kind = kindNames
		add(kind, values(args, "-a", "--arg-file")...)
	case strings.Contains(c.Words[0].Text, "/"):
		out = append(out, namedFile{name: c.Words[0].Text, kind: kindShell, guess: true})
	}
	if kind != "" {
		add(kind, inputs(reply, at)...)
	}
	// What a substitution reads may be what is run: bash -c "$(cat FILE)".
	if c.Name == "cat" && slices.ContainsFunc(c.Context, isSubstitution) &&
		slices.ContainsFunc(reply.Unknown, func(u shell.Unknown) bool { return u.What == "code" || u.What == "script" }) {
		add(kindShell, operands(args)...)
	}
	return out
}

func isSubstitution(s string) bool { return s == "substitution" || s == "process_substitution" }

// inputs returns the files that come to the standard input of a command.
func inputs(reply shell.Reply, at int) (out []string) {
	for n := 0; at >= 0 && n < 4; n++ {
		c := reply.Commands[at]
		for _, r := range c.Redirects {
			if r.Op == "<" && r.FD == 0 {
				out = append(out, r.Target.Text)
			}
		}
		if n > 0 && (c.Name == "cat" || c.Name == "head" || c.Name == "tail" || c.Name == "sed") {
			for _, w := range c.Words[1:] {
				if !strings.HasPrefix(w.Text, "-") {
					out = append(out, w.Text)
				}
			}
		}
		at = c.StdinFrom
	}
	return out
}

// operands returns the arguments that are neither options nor the values of those that are named.
func operands(args []string, valued ...string) (out []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case slices.Contains(valued, a):
			i++
		case a == "--":
			return append(out, args[i+1:]...)
		case !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+"):
			out = append(out, a)
		}
	}
	return out
}

// values returns the values of options: -f VALUE, -fVALUE, --file VALUE, --file=VALUE.
func values(args []string, short string, long ...string) (out []string) {
	for i, a := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		name, value, ok := strings.Cut(a, "=")
		switch {
		case slices.Contains(long, name) && ok:
			out = append(out, value)
		case slices.Contains(long, a) || short != "" && a == short:
			out = append(out, next)
		case short != "" && strings.HasPrefix(a, short) && !strings.HasPrefix(a, "--"):
			out = append(out, strings.TrimPrefix(a, short))
		}
	}
	return out
}

func first(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// hasShort reports a bundle of short options with this letter before the first operand.
func hasShort(args []string, letter byte) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return false
		}
		if !strings.HasPrefix(a, "--") && strings.IndexByte(a, letter) > 0 {
			return true
		}
	}
	return false
}

// codeFiles returns the programs that an interpreter is given.
func codeFiles(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case a == "-m":
			module := strings.ReplaceAll(next, ".", "/")
			return append(out, module+".py", module+"/__main__.py")
		case slices.Contains([]string{"-c", "-e", "-p", "--eval", "--print", "-E", "--test"}, a):
			i++
		case slices.Contains([]string{"-r", "--require", "--import", "--loader", "-I", "--preload"}, a):
			out = append(out, next)
			i++
		case a == "run" || a == "exec" || a == "x":
		case !strings.HasPrefix(a, "-"):
			return append(out, a, a+".js")
		}
	}
	return out
}

// makeFiles returns the file of rules that a make reads, with its goals.
func makeFiles(name string, args []string) (out []namedFile) {
	dir := "."
	if d := append(values(args, "-C", "--directory"), values(args, "", "--working-directory")...); len(d) > 0 {
		dir = d[0]
	}
	var goals []string
	for _, a := range operands(args, "-C", "-f", "--file", "--makefile", "--directory", "-j", "-o", "-W", "-I") {
		if !strings.Contains(a, "=") {
			goals = append(goals, a)
		}
	}
	list := values(args, "-f", "--file", "--makefile", "--justfile")
	if len(list) == 0 {
		list = []string{"GNUmakefile", "makefile", "Makefile"}
		if name == "just" {
			list = []string{"justfile", "Justfile", ".justfile"}
		}
	}
	for _, f := range list {
		if f != "-" {
			if !path.IsAbs(f) {
				f = path.Join(dir, f)
			}
			out = append(out, namedFile{name: f, kind: kindMake, wanted: goals})
		}
	}
	return out
}

// packageFile returns the package.json whose scripts a package manager runs.
func packageFile(args []string) []namedFile {
	dir := "."
	if d := append(values(args, "-C", "--prefix", "--cwd", "--dir"),
		values(args, "", "--workspace-root")...); len(d) > 0 && d[0] != "" {
		dir = d[0]
	}
	words := operands(args, "-C", "--prefix", "--cwd", "--dir", "-w", "--workspace", "--filter")
	if len(words) == 0 {
		words = []string{"install"} // what yarn does by itself
	}
	name := words[0]
	switch name {
	case "run", "run-script", "rum":
		if len(words) < 2 {
			return nil
		}
		name = words[1]
	case "t", "tst":
		name = "test"
	case "i", "ci", "install", "add":
		name = "install"
	}
	wanted := []string{"pre" + name, name, "post" + name}
	switch name {
	case "install":
		wanted = append(wanted, "prepublish", "preprepare", "prepare", "postprepare")
	case "restart":
		wanted = append(wanted, "stop", "start")
	case "publish", "pack":
		wanted = append(wanted, "prepublishOnly", "prepack", "postpack", "prepare")
	}
	return []namedFile{{name: path.Join(dir, "package.json"), kind: kindNPM, wanted: wanted}}
}

// gitSub returns the subcommand of git.
func gitSub(args []string) string {
	if rest := operands(args, "-C", "-c", "--git-dir", "--work-tree"); len(rest) > 0 {
		return rest[0]
	}
	return ""
}

// kindOfProgram tells a script by its first line; "" for what is no text.
func kindOfProgram(head []byte) string {
	if bytes.IndexByte(head, 0) >= 0 {
		return ""
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if !bytes.HasPrefix(line, []byte("#!")) {
		return kindShell // what execve refuses, a shell reads
	}
	for _, word := range strings.FieldsFunc(string(line[2:]), func(r rune) bool {
		return r == ' ' || r == '/' || r == '\t'
	}) {
		switch word {
		case "sh", "bash", "dash", "zsh", "ksh", "ash":
			return kindShell
		}
	}
	return kindCode
}
