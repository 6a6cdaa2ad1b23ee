package shell

import "strings"

// grammar says how a program reads its options, and what of its arguments it runs.
//
// opts lists the options, divided by blanks: the names of one, divided by commas, and a mark for its value.
//
//	v,verbose   takes no value
//	u,user:     takes a value: -u bob, -ubob, --user bob, --user=bob
//	e,env?      takes one in the same word only: -eA, --env=A
//	l,list!     nothing is run with it
//	s,shell$    what follows is joined and given to a shell
//	e@          what follows is the command: one word is a text for a shell
//	x,exec^     what follows is a command, and no text for a shell
//	shell&      what follows the operands are arguments of a shell
//	s%          what it runs is not known
//	f,fifo::    takes two values, in words of their own; ::: three
//	p,perm#     takes digits in the same word
//	c,command=K takes a value of kind K, which is run: see the kinds
//
// An option that is not listed may take a value or not, so what runs behind it is not known.
type grammar struct {
	opts    string
	skip    int    // operands before the command
	mixed   bool   // options may stand behind these operands
	tail    string // what the operands behind them are: see the tails
	verbs   string // the first operand is a verb: the key of verbOf
	label   string // for via, where it is not the program's name
	stdin   string // what it reads to run where its arguments give it nothing: "sh" or a language
	assigns bool   // operands NAME=value set the environment of the command
	remote  bool   // on another host or in a container
	adds    bool   // it adds arguments of its own
	dashed  bool   // -- begins the command, whatever operands are missing
	single  bool   // long options begin with one dash
	numbers bool   // -5 is an option
	lenient bool   // options that are not listed take no value: nothing behind them is taken for a command
	stops   bool   // a program that an option gives ends the options
	joins   bool   // several programs of options are one
}

// The kinds of values and tails. A + behind a kind of value says that the program has something to run besides it.
const (
	kindShell  = "sh"     // text for a shell
	kindOpen   = "shx"    // text for a shell, and arguments that the program adds
	kindArgs   = "prog"   // a program, which gets arguments
	kindHead   = "head"   // the program, in front of the operands
	kindScript = "script" // a file that a shell runs
	kindText   = "t."     // a program text of the language behind it
	kindFile   = "f."     // a file that holds a program of the language behind it
	kindOpts   = "o."     // options of the program behind it

	tailArgv   = ""     // a command and its arguments
	tailShell  = "sh"   // joined, a text for a shell
	tailEither = "text" // one word: a text for a shell; several: a command
	tailEach   = "each" // each is a text for a shell
	tailArgs   = "args" // arguments of a shell
	tailAfter  = "--"   // a command behind -- only
	tailNone   = "none"
)

// lookup finds an option in opts; mark is what stands behind its names. A long name may be cut where that leaves one.
func (g *grammar) lookup(name string, long bool) (mark string, ok bool) {
	cut, found := "", 0
	for rest := g.opts; rest != ""; {
		var token string
		token, rest, _ = strings.Cut(rest, " ")
		end := strings.IndexAny(token, ":?!$@=^%#&")
		if end < 0 {
			end = len(token)
		}
		matches := false
		for names := token[:end]; names != ""; {
			var n string
			n, names, _ = strings.Cut(names, ",")
			if n == name && (len(n) > 1) == long {
				return token[end:], true
			}
			matches = matches || long && len(n) > 1 && len(name) > 1 && !g.single && strings.HasPrefix(n, name)
		}
		if matches {
			cut = token[end:]
			found++
		}
	}
	return cut, found == 1
}

// option is one option as it stands in the arguments.
type option struct {
	name  string
	mark  string
	value Word
	used  int  // how many words it takes
	known bool // the grammar lists it
}

// options reads the word at args[0], which begins with a dash: one option, or several letters of which the last may
// take a value. each is called in order; it returns false to end.
func (g *grammar) options(args []Word, each func(o option) bool) (used int, goesOn bool) {
	a := args[0].Text
	dashes := 2
	if !strings.HasPrefix(a, "--") {
		dashes = 1
	}
	if dashes == 2 || g.single {
		name, value, has := strings.Cut(a[dashes:], "=")
		mark, ok := g.lookup(name, len(name) > 1)
		if ok || dashes == 2 {
			o := option{name: name, mark: mark, used: 1, known: ok, value: Word{Text: value,
				Known: args[0].Known && !args[0].Glob}}
			if takesValue(mark) && (!has || strings.HasPrefix(mark, "::")) && mark[0] != '?' {
				o.used = 1 + max(1, strings.Count(mark, ":"))
				if len(args) < o.used {
					return len(args), true // its value is missing: the program fails
				}
				o.value = args[1]
			}
			if !ok && (name == "help" || name == "version") {
				o.mark, o.known = "!", true
			}
			return o.used, each(o)
		}
		if mark, ok := g.lookup(a[1:2], false); !ok || !takesValue(mark) {
			return 1, each(option{used: 1})
		}
	}
	for k := 1; k < len(a); k++ {
		if g.numbers && a[k] >= '0' && a[k] <= '9' {
			break
		}
		mark, ok := g.lookup(a[k:k+1], false)
		o := option{name: a[k : k+1], mark: mark, used: 1, known: ok}
		if takesValue(mark) {
			o.value = Word{Text: a[k+1:], Known: args[0].Known && !args[0].Glob}
			if k+1 == len(a) && mark[0] != '?' {
				o.used = 1 + max(1, strings.Count(mark, ":"))
				if len(args) < o.used {
					return len(args), true
				}
				o.value = args[1]
			}
			return o.used, each(o)
		}
		if strings.HasPrefix(mark, "#") {
			for k+1 < len(a) && a[k+1] >= '0' && a[k+1] <= '9' {
				k++
			}
		}
		if !each(o) {
			return 1, false
		}
	}
	return 1, true
}

func takesValue(mark string) bool { return mark != "" && strings.IndexByte(":?=", mark[0]) >= 0 }
