package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// told renders a command in one line: via, words, marks.
func told(c Command) string {
	var b strings.Builder
	for _, v := range c.Via {
		b.WriteString(v + "> ")
	}
	for i, w := range c.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s", w.Text)
		if !w.Known {
			b.WriteByte('?')
		}
		if w.Glob {
			b.WriteString("(glob)")
		}
		if w.Tilde {
			b.WriteString("(home)")
		}
	}
	if c.ArgsOpen {
		b.WriteString(" …")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // commands, in order
		unknown    []string // what: of the unknowns
	}{
		{"plain", `rm -rf /`, []string{"rm -rf /"}, nil},
		{"path of the program", `/bin/rm x`, []string{"/bin/rm x"}, nil},
		{"quotes", `r"m" -f'r' '/'usr`, []string{"rm -fr /usr"}, nil},
		{"escapes", `r\m \-rf`, []string{"rm -rf"}, nil},
		{"ansi-c", `$'\u0072'm $'/\x75sr'`, []string{"rm /usr"}, nil},
		{"variable", `x=/etc; rm -rf $x "$x/a"`, []string{"rm -rf /etc /etc/a"}, nil},
		{"variable split", `x="rm -rf /"; $x`, []string{"rm -rf /"}, nil},
		{"own IFS", `IFS=,; x=rm,-rf,/; $x`, []string{"rm -rf /"}, nil},
		{"array", `a=(r m); IFS=; "${a[*]}" -rf /`, []string{"rm -rf /"}, nil},
		{"slice", `q=homestead; rm "/${q:0:4}"`, []string{"rm /home"}, nil},
		{"unset environment", `rm -rf "$X"`, []string{`rm -rf $X?`}, nil},
		{"unquoted unknown", `rm -rf /tmp/$X`, []string{"rm -rf /tmp/$X? …"}, nil},
		{"home", `rm -rf ~ "$HOME"/x ~bob`, []string{"rm -rf ~(home) ~/x(home) ~bob(home)"}, nil},
		{"quoted tilde", `rm '~' "~"`, []string{"rm ~ ~"}, nil},
		{"home through quotes", `bash -c "rm '$HOME'"`, []string{"bash -c rm '~'", "bash -c> rm ~(home)"}, nil},
		{"home taken apart", `rm "${HOME:0:1}"`, []string{"rm ${HOME:0:1}?"}, nil},
		{"working directory", `rm -rf "$PWD/out"`, []string{"rm -rf ./out"}, nil},
		{"braces", `rm {/usr,/etc}/{a,b}`, []string{"rm /usr/a /usr/b /etc/a /etc/b"}, nil},
		{"many braces", `echo {1..100000}`, []string{"echo {1..100000}? …"}, nil},
		{"glob", `rm *.o '*'`, []string{"rm *.o(glob) *"}, nil},
		{"arithmetic", `echo $((1+2*3))`, []string{"echo 7"}, nil},
		{"substitution", `rm $(printf %s /)`, []string{"printf %s /", "rm /"}, nil},
		{"unknown substitution", `rm "$(cmd)"`, []string{"cmd", "rm $(cmd)?"}, nil},
		{"backquotes", "`echo rm` x", []string{"echo rm", "rm x"}, nil},
		{"cd and pwd", `p=$(cd /etc && pwd); rm "$p"`, []string{"cd /etc", "pwd", "rm /etc"}, nil},
		{"which", `$(which rm) x`, []string{"which rm", "rm x"}, nil},
		{"unknown name", `$X -rf /`, []string{"$X? -rf / …"}, []string{"name"}},
		{"known last element", `$BIN/rm -rf /`, []string{"$BIN/rm? -rf / …"}, nil},
		{"and, or, pipe", `a && b || c | d`, []string{"a", "b", "c", "d"}, nil},
		{"subshell and group", `(a; { b; })`, []string{"a", "b"}, nil},
		{"if", `if a; then b; elif c; then d; else e; fi`, []string{"a", "b", "c", "d", "e"}, nil},
		{"branches that differ", `if a; then x=1; else x=2; fi; rm "$x"`, []string{"a", "rm $x?"}, nil},
		{"case", `case $x in a) b;; *) c;; esac`, []string{"b", "c"}, nil},
		{"for", `for d in /etc /usr; do rm $d; done`, []string{"rm /etc", "rm /usr"}, nil},
		{"for over a pattern", `for f in /etc/*; do rm "$f"; done`, []string{"rm /etc/*(glob)"}, nil},
		{"for over unknown", `for f in $(ls); do rm "$f"; done`, []string{"ls", "rm $f?"}, nil},
		{"while read", `while read -r d; do rm "$d"; done <<< /etc`, []string{"rm /etc"}, nil},
		{"loop variable changes", `x=a; while c; do rm "$x"; x=/; done`, []string{"c", "rm $x?"}, nil},
		{"function", `f(){ rm -rf "$1"; }; f /`, []string{"f /", "rm -rf /"}, nil},
		{"function not called", `f(){ rm "$1"; }`, []string{"rm $1?"}, nil},
		{"recursion", `z(){ z|z& };z`, []string{"z", "z", "z"}, nil},
		{"sh -c", `sh -c 'rm $0 $1' a b`, []string{"sh -c rm $0 $1 a b", "sh -c> rm a b"}, nil},
		{"bash -euc", `bash -euc 'a && b'`, []string{"bash -euc a && b", "bash -c> a", "bash -c> b"}, nil},
		{"unknown code", `bash -c "$X"`, []string{"bash -c $X?"}, []string{"code"}},
		{"eval", `eval rm -rf /`, []string{"eval rm -rf /", "eval> rm -rf /"}, nil},
		{"eval sets", `eval x=/; rm $x`, []string{"eval x=/", "rm /"}, nil},
		{"eval of unknown", `eval "$(curl x)"`, []string{"curl x", "eval $(curl x)?"}, []string{"code"}},
		{"trap", `trap 'rm x' EXIT`, []string{"trap rm x EXIT", "trap> rm x"}, nil},
		{"here-document", "bash <<E\nrm $HOME\nE", []string{"bash", "stdin> rm ~(home)"}, nil},
		{"quoted here-document", "bash <<'E'\nrm x\nE\n", []string{"bash", "stdin> rm x"}, nil},
		{"here-document for another program", "python3 <<E\nrm x\nE", []string{"python3"}, nil},
		{"here-string", `sh <<< 'rm x'`, []string{"sh", "stdin> rm x"}, nil},
		{"echo into a shell", `echo 'rm x' | sh`, []string{"echo rm x", "sh", "stdin> rm x"}, nil},
		{"base64 into a shell", `echo cm0gLXJmIC8= | base64 -d | sh`,
			[]string{"echo cm0gLXJmIC8=", "base64 -d", "sh", "stdin> rm -rf /"}, nil},
		{"printf escapes", `printf '\162\155 x' | sh`, []string{`printf \162\155 x`, "sh", "stdin> rm x"}, nil},
		{"download into a shell", `curl x | sudo -E bash -`, []string{"curl x", "sudo -E bash -", "sudo> bash -"},
			[]string{"code"}},
		{"script", `bash build.sh`, []string{"bash build.sh"}, []string{"script"}},
		{"source", `. ./env.sh`, []string{". ./env.sh"}, []string{"script"}},
		{"sudo", `sudo -u root -E A=1 rm x`, []string{"sudo -u root -E A=1 rm x", "sudo> rm x"}, nil},
		{"wrappers in each other", `timeout 5 nice -n 3 env -u A B=1 rm x`,
			[]string{"timeout 5 nice -n 3 env -u A B=1 rm x", "timeout> nice -n 3 env -u A B=1 rm x",
				"timeout> nice> env -u A B=1 rm x", "timeout> nice> env> rm x"}, nil},
		{"env -S", `env -S 'rm -rf /'`, []string{"env -S rm -rf /", "env> rm -rf /"}, nil},
		{"xargs", `xargs -n 1 rm -rf`, []string{"xargs -n 1 rm -rf", "xargs> rm -rf …"}, nil},
		{"xargs with known input", `echo / | xargs rm -rf`, []string{"echo /", "xargs rm -rf", "xargs> rm -rf " +
			"/"}, nil},
		{"xargs -I", `echo / | xargs -I{} rm -rf {}etc`, []string{"echo /", "xargs -I{} rm -rf {}etc", "xargs> " +
			"rm -rf /etc"},
			nil},
		{"find -exec", `find / -name a -exec rm -rf {} +`,
			[]string{"find / -name a -exec rm -rf {} +", "find -exec> rm -rf {}"}, nil},
		{"find -exec sh -c", `find . -exec sh -c 'rm "$1"' _ {} \;`,
			[]string{`find . -exec sh -c rm "$1" _ {} ;`, `find -exec> sh -c rm "$1" _ {}`, "find -exec> sh -c> " +
				"rm {}"}, nil},
		{"ssh", `ssh -p 22 host rm -rf /`, []string{"ssh -p 22 host rm -rf /", "ssh> rm -rf /"}, nil},
		{"docker exec", `docker exec -it c sh -c 'rm x'`,
			[]string{"docker exec -it c sh -c rm x", "docker exec> sh -c rm x", "docker exec> sh -c> rm x"}, nil},
		{"docker run", `docker run --rm -v /a:/b img rm x`, []string{"docker run --rm -v /a:/b img rm x",
			"docker run> rm x"},
			nil},
		{"kubectl exec", `kubectl exec pod -- rm x`, []string{"kubectl exec pod -- rm x", "kubectl exec> rm x"}, nil},
		{"su -c", `su - bob -c 'rm x'`, []string{"su - bob -c rm x", "su> rm x"}, nil},
		{"git rebase", `git rebase -x 'rm x' main`, []string{"git rebase -x rm x main", "git rebase> rm x"}, nil},
		{"command -v runs nothing", `command -v rm`, []string{"command -v rm"}, nil},
		{"text is data", `echo "rm -rf /"`, []string{"echo rm -rf /"}, nil},
		{"comment", `ls # rm -rf /`, []string{"ls"}, nil},
		{"redirection alone", `> /etc/passwd`, []string{":"}, nil},
		{"process substitution", `perl <(curl x)`, []string{"curl x", "perl <(curl x)?"}, nil},
		{"test", `[[ -f $(rm x) ]]`, []string{"rm x"}, nil},
		{"set --", `set -- / a; rm "$@"`, []string{"set -- / a", "rm / a"}, nil},
		{"exported", `export P=/etc; sh -c 'rm $P'`, []string{"export P=/etc", "sh -c rm $P", "sh -c> rm /etc"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := Parse(tt.text)
			if !r.OK || r.Truncated {
				t.Fatalf("ok %v, truncated %v, error %q", r.OK, r.Truncated, r.Error)
			}
			var got, unknown []string
			for _, c := range r.Commands {
				got = append(got, told(c))
			}
			for _, u := range r.Unknown {
				unknown = append(unknown, u.What)
			}
			if !slices.Equal(got, tt.want) || !slices.Equal(unknown, tt.unknown) {
				t.Errorf("%s\ngot  %q %q\nwant %q %q", tt.text, got, unknown, tt.want, tt.unknown)
			}
		})
	}
}

func TestDetails(t *testing.T) {
	r, _ := Parse(`cd ~/.aws; A=1 sudo cat 2>err <in | tee out &`)
	if n := len(r.Commands); n != 4 {
		t.Fatalf("%d commands: %+v", n, r.Commands)
	}
	sudo, cat, tee := r.Commands[1], r.Commands[2], r.Commands[3]
	if sudo.CWD == nil || sudo.CWD.Text != "~/.aws" || !sudo.CWD.Tilde {
		t.Errorf("cwd %+v", sudo.CWD)
	}
	if len(cat.Assigns) != 1 || cat.Assigns[0].Name != "A" || cat.Parent != 1 || cat.Name != "cat" {
		t.Errorf("cat %+v", cat)
	}
	if len(cat.Redirects) != 2 || !reflect.DeepEqual(cat.Redirects[0],
		Redirect{Op: ">", FD: 2, Target: Word{Text: "err", Known: true}}) ||
		cat.Redirects[1].Op != "<" {
		t.Errorf("redirects %+v", cat.Redirects)
	}
	if tee.StdinFrom != 1 || tee.Pipe != sudo.Pipe || tee.Pipe == 0 || !slices.Equal(tee.Context,
		[]string{"background"}) {
		t.Errorf("tee %+v", tee)
	}
	r, _ = Parse(`f(){ f | f & }; f`)
	if !r.Commands[0].Function || r.Commands[0].Recursive || !r.Commands[1].Recursive {
		t.Errorf("recursion %+v", r.Commands)
	}
	r, _ = Parse(`{ a; b; } > /etc/passwd`)
	if len(r.Commands) != 2 || len(r.Commands[1].Redirects) != 1 ||
		r.Commands[1].Redirects[0].Target.Text != "/etc/passwd" {
		t.Errorf("group %+v", r.Commands)
	}
	r, _ = Parse(`ssh h ls`)
	if len(r.Commands) != 2 || !r.Commands[1].Remote {
		t.Errorf("remote %+v", r.Commands)
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		`echo "open`, `if`, `a | | b`, `((`, "`", strings.Repeat("(", 100) + strings.Repeat(")", 100),
		strings.Repeat("x", MaxText+1),
		strings.Repeat("if a; then ", 400), strings.Repeat("! ", 3000) + "a",
	} {
		r, _ := Parse(text)
		if r.OK || r.Error == "" || !r.Truncated || len(r.Commands) > 0 || r.Commands == nil {
			t.Errorf("%.40q: %+v", text, r)
		}
	}
	if r, _ := Parse(strings.Repeat("( ", MaxNesting+1) + "a" +
		strings.Repeat(" )", MaxNesting+1)); r.Error != errNested.Error() {
		t.Errorf("nesting: %+v", r)
	}
	if r, _ := Parse(strings.Repeat("( ", MaxNesting) + "a" + strings.Repeat(" )", MaxNesting)); !r.OK ||
		len(r.Commands) != 1 {
		t.Errorf("nesting at the limit: %+v", r)
	}
	if r, _ := Parse("printf '" + strings.Repeat(`\033[1m`, 100) + "'"); !r.OK || len(r.Commands) != 1 {
		t.Errorf("colour codes: %+v", r.Error)
	}
	for _, unit := range []string{"{ ", "${a:-", "a[", "$(", "<("} {
		if r, _ := Parse("echo " + strings.Repeat(unit, 1000)); r.Error != errNested.Error() {
			t.Errorf("%q nested: %q", unit, r.Error)
		}
	}
	if r, _ := Parse(strings.Repeat("eval ", MaxDepth) + "a"); r.Truncated || len(r.Unknown) != 0 {
		t.Errorf("texts at the limit: %+v", r.Unknown)
	}
	if r, _ := Parse(strings.Repeat("eval ", MaxDepth+1) + "a"); !r.Truncated || len(r.Unknown) != 1 ||
		r.Unknown[0].What != "limit" {
		t.Errorf("texts beyond the limit: %+v", r.Unknown)
	}
	if r, _ := Parse(`bash -c 'if'`); r.OK || len(r.Unknown) != 1 || len(r.Commands) != 1 {
		t.Errorf("an inner text that is not shell: %+v", r)
	}
}

// bombs are texts that cost much more than they are long. The work is asserted,
// not the time.
func bombs() []string {
	doubling := "a=xxxxxxxxxxxxxxxx;"
	for range 40 {
		doubling += `a=$a$a;`
	}
	nested := "a"
	for range 20 {
		nested = "$(echo " + nested + ")"
	}
	evals := "rm x"
	for range 12 {
		evals = "eval " + evals
	}
	return []string{
		doubling + `echo $a`,
		"echo " + nested,
		evals,
		"echo " + strings.Repeat("{a,b}", 40),
		"echo " + strings.Repeat("{1..64}", 30),
		"for a in 1 2 3 4 5 6 7 8; do for b in 1 2 3 4 5 6 7 8; do for c in 1 2 3 4 5 6 7 8; do for d in 1 2 3 4 " +
			"5 6 7 8; do x; done; done; done; done",
		"f(){ g; g; }; g(){ h; h; }; h(){ i; i; }; i(){ j; j; }; j(){ k; k; }; k(){ l; l; l; }; l(){ m; m; m; }; f",
		"a=" + strings.Repeat("x", 8000) + "; echo " + strings.Repeat("$a", 8000),
		"a=" + strings.Repeat("x", 4000) + "; echo ${a//x/$a}",
		strings.Repeat("((", 29) + "1" + strings.Repeat("))", 29),
		strings.Repeat("a | ", 8000) + "b",
		strings.Repeat("a;", 30000),
		strings.Repeat("a && ", 10000) + "b",
		strings.Repeat("echo $(x);", 6000),
		"printf '%1000000000s' x | sh",
		"echo $((2**62)) $((1<<62)) $((x=1))",
		"x='a[$(echo 1)]'; echo $((x))",
		strings.Repeat(`"`, 60000) + `x`,
		"cat " + strings.Repeat("<<E ", 2000) + "\n",
		strings.Repeat("sudo ", 2000) + "rm",
		strings.Repeat("[[ ", 50) + "a",
		"echo " + strings.Repeat("${a:-", 59) + strings.Repeat("}", 59),
		"docker run " + strings.Repeat("-v a:b ", 2000) + "i rm",
		"sudo " + strings.Repeat("--preserve-e ", 3000) + "rm",
		strings.Repeat("sudo -n ", 2000) + "rm",
		strings.Repeat("kubectl ", 4000) + "exec p -- rm",
		"alias " + strings.Repeat("a=b ", 2000) + "; a",
		"alias a='b;b' b='c;c' c='d;d' d='e;e' e='f;f' f='g;g' g='h;h' h='i;i' i='j;j'; a; a; a; a",
		"alias a='x " + strings.Repeat("y ", 3000) + "';" + strings.Repeat("a;", 3000),
		"parallel '" + strings.Repeat("{} ", 15000) + "' ::: " + strings.Repeat("x", 4000),
		"parallel parallel parallel parallel 'a {}' ::: " + strings.Repeat("b ", 15),
		"git " + strings.Repeat("-c alias.a='!a' ", 2000) + "a",
		"git " + strings.Repeat("-c core.pager='git -c core.pager=\"git log\" log' ", 500) + "log",
		strings.Repeat("GIT_CONFIG_KEY_0=a ", 3000) + "git log",
		strings.Repeat("EDITOR='EDITOR=\"EDITOR=a b\" b' ", 1500) + "git commit",
		"tee " + strings.Repeat(">(sh) ", 3000),
		strings.Repeat("tee >(", 55) + "sh" + strings.Repeat(")", 55),
		strings.Repeat("x <(y) ", 3000),
		"x='$(echo \"${x@P}\")'; " + strings.Repeat(`echo "${x@P}";`, 1000),
		strings.Repeat("psql -c '\\! a' ;", 3000),
		"psql -c '" + strings.Repeat("\n\\! a", 4000) + "'",
		"sed '" + strings.Repeat("s/[/", 10000) + "' f",
		"sed '" + strings.Repeat("e a\n", 10000) + "' f",
		"echo '" + strings.Repeat("* * * * * a\n", 4000) + "' | crontab -",
		strings.Repeat("python3 -c '"+strings.Repeat("x", 1000)+"';", 60),
		strings.Repeat("python3 -c '"+strings.Repeat("\x01", 400)+"';", 150),
		"env -S '" + strings.Repeat("-S \"a b\" ", 2000) + "'",
		"perl " + strings.Repeat("-e 'a' ", 3000),
		"yarn " + strings.Repeat("workspace a ", 2000) + "exec a",
		"tar " + strings.Repeat("I", 8000) + " " + strings.Repeat("a ", 3000),
	}
}

func TestBombs(t *testing.T) {
	for _, text := range bombs() {
		r, steps := Parse(text)
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if steps > 2*maxSteps || len(r.Commands) > MaxCommands || len(out) > 1<<20 {
			t.Errorf("%.60q: %d steps, %d commands, %d bytes", text, steps, len(r.Commands), len(out))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range bombs() {
		f.Add(s[:min(len(s), 500)])
	}
	for _, s := range []string{
		`rm -rf "$(echo /)"`, "cat <<E\n$x `y`\nE", `a=(1 2); echo "${a[@]}" ${a[0]} ${#a} ${a%x} ${a/x/y}`,
		`find . -exec sh -c 'x' \;`,
		`while read -r a b; do x; done < <(y)`, `case a in b|c) d;; esac`, `f() { g "$@"; }; f 1 2`,
		`[[ a =~ b && -f c ]]`,
		`echo {a..z..2} {1,2}{3,4}`,
		`xargs -I{} x {}`, `ssh h 'a | b'`, `docker run -it x sh`, `trap 'x' EXIT`, `let a=1+2; ((a++))`, `coproc a`,
		`time -p a`, `! a`, `a & b`, "$'\\x41'", `echo $"a"`, `${!a}`, `<(a) >(b)`,
		"\xff\xfe", "a\x00b", "é", "\U0010FFF0",
	} {
		f.Add(s)
	}
	rows, err := os.ReadFile("testdata/wrappers.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(rows)) {
		if command, _, ok := strings.Cut(line, " ⇒ "); ok {
			f.Add(command)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 { // long ones only slow the fuzzer down: see TestBombs
			return
		}
		r, steps := Parse(text)
		if steps > 2*maxSteps || len(r.Commands) > MaxCommands || len(r.Unknown) > MaxUnknown ||
			len(r.UnknownPrograms) > MaxUnknown {
			t.Fatalf("%d steps, %d commands", steps, len(r.Commands))
		}
		if !r.OK && r.Error == "" {
			t.Fatal("not ok, and no error")
		}
		for i, c := range r.Commands {
			if c.Parent >= i || c.StdinFrom >= len(r.Commands) || len(c.Words) == 0 {
				t.Fatalf("command %d: %+v", i, c)
			}
			for _, w := range c.Words {
				if !utf8.ValidString(w.Text) || len(w.Text) > MaxWordText+64 || marked(w.Text) {
					t.Fatalf("command %d: word %q", i, w.Text)
				}
			}
		}
		for _, p := range r.UnknownPrograms {
			if p.Language == "" || p.Command < 0 || p.Command >= len(r.Commands) ||
				!utf8.ValidString(p.Text+p.File) ||
				len(p.Text) > MaxWordText+64 || len(p.File) > MaxWordText+64 {
				t.Fatalf("program %+v", p)
			}
		}
		if again, n := Parse(text); n != steps || len(again.Commands) != len(r.Commands) {
			t.Fatal("not deterministic")
		}
	})
}

// The parser is told to stop before each block that it reads, a walk every few steps, and a
// look for what an expansion or arithmetic holds every few nodes.
func TestParseStopsWhereverItIs(t *testing.T) {
	for name, text := range map[string]string{
		"parsing":         "echo '" + strings.Repeat("x", 60_000) + "'",
		"parsing within":  "sh -c 'echo " + strings.Repeat("x", 7_000) + "'",
		"walking":         strings.Repeat("(x);", 5_000),
		"looking":         "((" + strings.Repeat("1+", 30_000) + "1))",
		"looking at args": "echo " + strings.Repeat("a ", 30_000),
	} {
		asked, last := 0, 0
		_, steps := ParseUntil(text, func(n int) bool { asked, last = asked+1, n; return false })
		if all := asked; all < 8 || last > steps {
			t.Errorf("%s: asked %d times, the last at %d of %d steps", name, all, last, steps)
		} else {
			for _, after := range []int{1, all / 2, all - 1} {
				asked = 0
				ParseUntil(text, func(int) bool { asked++; return asked >= after })
				if asked != after {
					t.Errorf("%s: asked %d times after it was to stop at %d of %d", name, asked, after, all)
				}
			}
		}
	}
}

// Characters by which a text may nest are steps, before the parser has seen one of them.
func TestNestingIsPaidFor(t *testing.T) {
	for text, want := range map[string]int{
		"a+b?c":           0,
		"a(b":             1,
		"$((1+2))":        4,
		"x[1?2]":          3,
		"${a:-b}":         3,
		"let a=1":         1,
		"echo \"$a\" [ ]": 3,
	} {
		if got := nests(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	text := "echo $((" + strings.Repeat("1?", 16_000) + "1))"
	first := 0
	ParseUntil(text, func(n int) bool { first = n; return true })
	if first < 2*3*16_000 {
		t.Errorf("%d steps before the parser begins", first)
	}
}

// A walk ends soon after it is told to, and a pipeline that would nest as deep
// as it is long is not read at all.
func TestParseStops(t *testing.T) {
	text := strings.Repeat("(x);", 5000)
	asked := 0
	_, _ = ParseUntil(text, func(int) bool { asked++; return asked > 1 })
	if asked < 2 || asked > 5 {
		t.Errorf("asked %d times", asked)
	}
	if r, _ := Parse(strings.Repeat("a|", maxBars+1) + "a"); r.OK {
		t.Error("a pipeline of thousands is read")
	}
	if r, _ := Parse(strings.Repeat("a|", 100) + "a"); !r.OK || len(r.Commands) != 101 {
		t.Errorf("a long pipeline: %v %d", r.OK, len(r.Commands))
	}
}

// Bash runs what stands in the subscript of a value that it evaluates.
func TestSubscriptsInValuesAreNotKnown(t *testing.T) {
	for _, text := range []string{
		"let 'a[$(rm -rf /)]=1'", "x='a[$(rm -rf /)]'; (( x ))", "x='a[$(rm)]'; [[ x -eq 1 ]]", "x='a[`rm`]'; " +
			"echo $((x))",
		"x='a[$(rm)]'; a[x]=1", "x='a[$(rm)]'; declare -i y=x", "test -v 'a[$(rm)]'", "printf -v 'a[$(rm)]' x",
		"unset 'a[$(rm)]'",
		"declare 'a[$(rm)]=1'", "read 'a[$(rm)]' <<< 1", `x="a[\$(rm)]"; ((x))`, `x=$'a[\x24(rm)$]'; ((x))`,
		"bash -c \"x='a[\\$(rm)]'; ((x))\"", "x='a[$(rm)]'; echo ${y:x}",
	} {
		r, _ := Parse(text)
		found := false
		for _, u := range r.Unknown {
			found = found || u.What == "code"
		}
		if !found {
			t.Errorf("%s: %+v", text, r.Unknown)
		}
	}
	for _, text := range []string{
		"awk '{print a[$1]}' f", "for f in *.txt; do echo \"${f%.*}\"; done",
		"if test \"$a\" -eq 1; then echo \"$(date)\"; fi",
		"[[ $x == [ab]* ]] && echo $((1+2))", "a=(1 2); echo ${a[0]} $(ls)",
		"grep -E '[0-9]+' f | while read -r l; do echo $l; done",
	} {
		if r, _ := Parse(text); len(r.Unknown) != 0 {
			t.Errorf("%s: %+v", text, r.Unknown)
		}
	}
}

// The command [ is a name, not a pattern: a guard must not ask about every test.
func TestBracketIsAName(t *testing.T) {
	for text, names := range map[string][]string{
		`[ -f x ] && echo y`:             {"[", "echo"},
		`if [ "$a" -eq 1 ]; then ls; fi`: {"[", "ls"},
		`r[m] -rf /`:                     {""},
		`a=[; b=]; $a -f x $b`:           {"["},
		`x='r[m]'; $x -rf /`:             {""},
	} {
		r, _ := Parse(text)
		var got []string
		for _, c := range r.Commands {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s: names %q, want %q", text, got, names)
		}
	}
}
