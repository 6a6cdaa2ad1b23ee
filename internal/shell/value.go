package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// variable is the known part of a shell variable.
type variable struct {
	known bool
	glob  bool // holds the text of a pattern that the shell would have expanded
	v     expand.Variable
	from  []int  // the commands whose output it holds, where it is not known
	holes string // its text with holes, where it is not known
	fold  byte   // l, u: declare made all that is assigned lower or upper case
}

// env is the state of one shell as far as it is known. Subshells get a clone.
type env struct {
	vars map[string]variable
	cwd  *Word // nil: where the text was started
}

// homeMark and hereMark stand for the home directory and for the directory where
// the text was started, while a text is walked: characters that no shell
// treats specially, so that they survive quoting and inner texts. They become ~
// and . when a command is told; a text that has them itself loses them first.
const (
	homeMark = "\U0010FFF0"
	hereMark = "\U0010FFF1"
)

// blankIFS is what IFS is when a shell starts.
const blankIFS = " \t\n"

func newEnv() *env {
	e := &env{vars: map[string]variable{}}
	e.set("HOME", text(homeMark))
	e.set("PWD", text(hereMark))
	e.set("IFS", text(blankIFS)) // a shell takes none from its environment
	return e
}

// marked reports text that must not be taken apart.
func marked(s string) bool {
	return strings.Contains(s, homeMark) || strings.Contains(s, hereMark)
}

// unmark gives a word its told form.
func (w *walker) unmark(word Word) Word {
	if !marked(word.Text) && !hasHole(word.Text) {
		return word
	}
	word.Tilde = word.Tilde || strings.HasPrefix(word.Text, homeMark)
	word.From = union(word.From, w.inHoles(word.Text))
	word.Text = w.plainText(word.Text)
	return word
}

// plainText gives a text its told form.
func (w *walker) plainText(s string) string { return unmarkText(w.fillHoles(s)) }

func unmarkText(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, homeMark, "~"), hereMark, ".")
}

func (e *env) clone() *env { return &env{vars: maps.Clone(e.vars), cwd: e.cwd} }

func text(s string) variable {
	return variable{known: true, v: expand.Variable{Set: true, Kind: expand.String, Str: s}}
}

func list(l []string) variable {
	return variable{known: true, v: expand.Variable{Set: true, Kind: expand.Indexed, List: l}}
}

func (e *env) set(name string, v variable) { e.vars[name] = v }

func (e *env) forget(name string) { e.vars[name] = variable{} }

func (e *env) forgetAll() {
	for name := range e.vars {
		e.forget(name)
	}
}

// known is how much is known: the number of variables, and one more for the directory.
func (e *env) known() (n int) {
	for _, v := range e.vars {
		if v.known {
			n++
		}
	}
	if e.cwd == nil || e.cwd.Known {
		n++
	}
	return n
}

// setParamWords is setParams; parameters that are not known keep where they come from.
func (e *env) setParamWords(args []Word, known bool) {
	e.setParams(texts(args), known)
	if known {
		return
	}
	var from []int
	for _, a := range args {
		from = union(from, a.From)
	}
	if len(from) > 0 {
		for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"} {
			e.vars[n] = variable{from: from}
		}
	}
}

// setParams gives the shell positional parameters; nil args make them unknown.
func (e *env) setParams(args []string, known bool) {
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*", "#"} {
		delete(e.vars, n)
	}
	if !known {
		return
	}
	for i, a := range args {
		if i < 9 {
			e.set(string(rune('1'+i)), text(a))
		}
	}
	for i := len(args); i < 9; i++ {
		e.set(string(rune('1'+i)), variable{known: true, v: expand.Variable{}})
	}
	e.set("@", list(args))
	e.set("*", list(args))
	e.set("#", text(itoa(len(args))))
}

// join keeps what two branches agree on.
func (e *env) join(other *env) {
	for name, v := range e.vars {
		o := other.vars[name]
		if !same(v, o) || len(o.from) > 0 {
			e.vars[name] = variable{from: union(v.from, o.from)}
		}
	}
	for name, o := range other.vars {
		if _, ok := e.vars[name]; !ok && len(o.from) > 0 {
			e.vars[name] = variable{from: o.from}
		}
	}
	if (e.cwd == nil) != (other.cwd == nil) || e.cwd != nil && !sameWord(*e.cwd, *other.cwd) {
		e.cwd = &Word{Text: "?", Known: false}
		e.forget("PWD")
	}
}

func sameWord(a, b Word) bool {
	return a.Text == b.Text && a.Known == b.Known && a.Glob == b.Glob && a.Tilde == b.Tilde
}

func same(a, b variable) bool {
	return a.holes == b.holes && a.known == b.known && a.glob == b.glob && a.v.Kind == b.v.Kind && a.v.Str == b.v.Str &&
		a.v.Set == b.v.Set && slices.Equal(a.v.List, b.v.List)
}

// size is an upper bound of the bytes that a variable expands to.
func (v variable) size() int {
	n := len(v.v.Str)
	for _, s := range v.v.List {
		n += len(s) + 1
	}
	return n
}

// Get and Each make an env an expand.Environ.
func (e *env) Get(name string) expand.Variable {
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		if dir, ok := dirOf(user); ok {
			return e.vars[dir].v
		}
		return text("~" + user).v // ~user stays as it is; no look-up on this machine
	}
	if v, ok := e.vars[name]; ok && v.known {
		return v.v
	}
	return expand.Variable{}
}

// dirOf returns the variable that ~+ or ~- stands for.
func dirOf(user string) (string, bool) {
	switch user {
	case "+":
		return "PWD", true
	case "-":
		return "OLDPWD", true
	}
	return "", false
}

// Each is not used by expansion.
func (e *env) Each(func(string, expand.Variable) bool) {}
