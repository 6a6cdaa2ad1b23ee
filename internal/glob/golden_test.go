package glob_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/belay-hooks/belay/internal/glob"
)

func match(t interface{ Fatalf(string, ...any) }, pattern, text string) bool {
	g, err := glob.Compile(pattern)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	ok, err := g.Match(text, &glob.Work{})
	if err != nil {
		t.Fatalf("%q with %q: %v", pattern, text, err)
	}
	return ok
}

// What patterns of version 1 of the ABI match is what github.com/bmatcuk/doublestar/v4.10.4
// said of them, which belay used before: each line is a pattern, a text, and its answer.
func TestAnswersOfTheLibraryBefore(t *testing.T) {
	f, err := os.Open("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var pattern, text string
		var want bool
		if _, err := fmt.Sscanf(lines.Text(), "%q %q %t", &pattern, &text, &want); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if got := match(t, pattern, text); got != want {
			t.Errorf("%q with %q: %v", pattern, text, got)
		}
	}
	if n < 1000 {
		t.Errorf("only %d cases", n)
	}
}

// Where the library gave up too early it found less than is there: it kept one place to
// go back to, and read the end of a text before the alternatives behind a star.
func TestMatchesThatTheLibraryMissed(t *testing.T) {
	for _, tc := range [][2]string{
		{"*[!q]*c", "xx/c"}, // a class may take a /, so the first star has to end later
		{"{[!a{]x,a}", "a"}, // an alternative that begins with a class with a brace in it hid the next one
		{"/*{,b}", "/"},
		{"*{,/}", ""},
		{"**/*/**/", "/a"},
	} {
		if !match(t, tc[0], tc[1]) {
			t.Errorf("%q does not match %q", tc[0], tc[1])
		}
	}
}

// Everyday patterns, for readers.
func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"*.go", "main.go", true}, {"*.go", "cmd/main.go", false}, {"**/*.go", "cmd/x/main.go", true},
		{"**/*.go", "main.go", true},
		{"/etc/**", "/etc/passwd", true}, {"/etc/**", "/etc/ssl/key", true}, {"/etc/**", "/etc", true},
		{"/etc/**", "/etcetera", false},
		{"src/**.go", "src/a/b.go", false}, {"src/**.go", "src/b.go", true}, // behind other text ** is *
		{"{*,x}*/b", "q/r/b", true}, // written out, **/ begins the first
		{"**{/a,b}", "x/y/a", false},
		{"a/{b/,}**/c", "a/q/r/c", true}, {"a{b/,}**/c", "aq/r/c", false},
		{"[!a-c]", "d", true}, {"[!a-c]", "b", false}, {"[a-c-e]", "-", true}, {"[\\]-a]", "^", true},
		{"[a\\-c]", "b", false}, {"[a-\\z]", "b", true}, {"[a-\\z]", "~", false},
		{"{a,{b,c}d}e", "cde", true}, {"{a,{b,c}d}e", "ce", false}, {"{}", "", true}, {"a,b", "a,b", true},
		{"[{,}]", ",", true},
		{"\\*", "*", true}, {"\\*", "a", false}, {"\\/**", "/a/b", true}, {"?", "é", true}, {"?", "/", false}, {"", "", true},
		{"", "a", false},
	} {
		if got := match(t, tc.pattern, tc.text); got != tc.want {
			t.Errorf("%q with %q: %v", tc.pattern, tc.text, got)
		}
	}
	for _, bad := range []string{"[", "[]", "[!]", "[a", "{", "}", "{a", "a}", "\\", "[a\\]", "{[a}"} {
		if _, err := glob.Compile(bad); err != glob.ErrPattern {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
