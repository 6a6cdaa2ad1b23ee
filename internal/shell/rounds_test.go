package shell

import (
	"slices"
	"testing"
)

// row is a text, and what of it runs as told says; see TestParse.
type row struct {
	why, text string
	want      []string
}

// checkRows parses each text and compares its commands. The parts that are not
// known follow them.
func checkRows(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		r, _ := Parse(tt.text)
		var got []string
		for _, c := range r.Commands {
			got = append(got, told(c))
		}
		for _, u := range r.Unknown {
			got = append(got, "unknown "+u.What)
		}
		for _, c := range r.Commands {
			if c.Parent < -1 || c.StdinFrom < -1 {
				t.Errorf("%s: %s: parent %d, reads %d", tt.why, tt.text, c.Parent, c.StdinFrom)
			}
		}
		if !r.OK || r.Truncated || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %s (ok %v, truncated %v)\ngot  %q\nwant %q", tt.why, tt.text, r.OK, r.Truncated, got, tt.want)
		}
	}
}

// TestRoundsOfALoop: what a later round of a loop may get otherwise than the first one is not known, however the loop
// changes it; and each command of the body is told once.
func TestRoundsOfALoop(t *testing.T) {
	checkRows(t, []row{
		{"eval sets it for the next round", `a=x; while c; do rm $a; eval a=/; done`, []string{"c", "rm $a? …", "eval a=/"}},
		{"a function sets it", `f() { a=/; }; a=x; while c; do rm $a; f; done`, []string{"c", "rm $a? …", "f"}},
		{"a trap may", `a=x; while c; do rm $a; trap 'a=/' DEBUG; done`, []string{"c", "rm $a? …", "trap a=/ DEBUG"}},
		{"a builtin behind a wrapper", `a=x; while c; do rm $a; command read a; done`,
			[]string{"c", "rm $a? …", "command read a", "command> read a"}},
		{"in the condition, too", `a=x; while rm $a; do eval a=/; done`, []string{"rm $a? …", "eval a=/"}},
		{"the condition runs at least once", `a=x; until eval a=/; do :; done; rm $a`, []string{"eval a=/", ":", "rm /"}},
		{"one variable by way of another", `a=x; b=y; while c; do rm $b; eval b='$a'; eval a=/; done`,
			[]string{"c", "rm $b? …", "eval b=$a", "eval a=/"}},
		{"a list that is not known", `a=x; for i in $X; do rm $a; eval a=/; done; rm $a`,
			[]string{"rm $a? …", "eval a=/", "rm $a? …"}},
		{"counted", `a=x; for ((;;)); do rm $a; eval a=/; done`, []string{"rm $a? …", "eval a=/"}},
		{"loops in each other", `a=x; while c; do while d; do rm $a; eval a=/; done; done`,
			[]string{"c", "d", "rm $a? …", "eval a=/"}},
		{"what is unknown is told once", `a=x; while $X; do eval a=/; done`, []string{"$X? …", "eval a=/", "unknown name"}},
		{"a function that is defined there", `a=x; while c; do f() { rm x; }; eval a=/; done`,
			[]string{"c", "eval a=/", "rm x"}},
		{"let sets one name", `a=x; while c; do let b=1; rm $a; done`, []string{"c", "rm x"}},
		{"nothing is changed", `a=x; while c; do rm $a; done; rm $a`, []string{"c", "rm x", "rm x"}},
		{"what is set in each round is known behind it there", `while c; do eval a=/; rm $a; done`,
			[]string{"c", "eval a=/", "rm /"}},
		{"known items are walked one by one", `a=x; for i in 1 2; do rm $a; eval a=/; done; rm $a`,
			[]string{"rm x", "eval a=/", "rm /", "eval a=/", "rm /"}},
	})
	r, _ := Parse(`cd /x; f() { cd /y; }; while c; do ls; f; done; ls`)
	for _, c := range r.Commands[1:] {
		if c.CWD == nil || c.CWD.Known {
			t.Errorf("%s: the directory is known: %+v", told(c), c.CWD)
		}
	}
	if r, _ := Parse(`a=x; while c | d; do eval a=/; done; e | f`); r.Commands[0].Pipe != 1 || r.Commands[4].Pipe != 2 {
		t.Errorf("pipelines are counted anew: %+v", r.Commands)
	}
}

// TestJumps: break, continue and return may leave a loop or a function before the rest of it has changed anything.
func TestJumps(t *testing.T) {
	checkRows(t, []row{
		{"break", `a=/; for i in 1; do c && break; a=x; done; rm $a`, []string{"c", "break", "rm $a? …"}},
		{"break with something else in between", `a=1; for i in 1; do eval a=2; c && break; eval a=1; done; rm $a`,
			[]string{"eval a=2", "c", "break", "eval a=1", "rm $a? …"}},
		{"of a list that is not known", `a=1; for i in $X; do eval a=2; c && break; eval a=1; done; rm $a`,
			[]string{"eval a=2", "c", "break", "eval a=1", "rm $a? …"}},
		{"in the condition", `a=1; while eval a=2 && c && break; eval a=1; do :; done; rm $a`,
			[]string{"eval a=2", "c", "break", "eval a=1", ":", "rm $a? …"}},
		{"continue", `a=/; for i in 1 2; do eval rm '$a'; c && continue; eval a=x; done`,
			[]string{"eval rm $a", "eval> rm /", "c", "continue", "eval a=x", "eval rm $a", "eval> rm $a? …", "c", "continue",
				"eval a=x"}},
		{"of lines that are known", "while read a; do b=$a; c && break; b=x; done <<< /; rm $b",
			[]string{"c", "break", "rm $b? …"}},
		{"return", `f() { c && return; a=x; }; a=/; f; rm $a`, []string{"f", "c", "return", "rm $a? …"}},
		{"the item at which it stops", `for i in 1 2; do c && break; done; rm $i`,
			[]string{"c", "break", "c", "break", "rm $i? …"}},
		{"out of two loops", `a=/; for i in 1; do for j in 1; do c && break 2; done; a=x; done; rm $a`,
			[]string{"c", "break 2", "rm $a? …"}},
		{"from eval", `a=/; for i in 1; do eval break; a=x; done; rm $a`, []string{"eval break", "eval> break", "rm $a? …"}},
		{"without a jump", `a=/; for i in 1; do a=x; done; rm $a $i`, []string{"rm x 1"}},
		{"a function without one", `f() { a=x; }; a=/; f; rm $a`, []string{"f", "rm x"}},
	})
}
