package glob

import (
	"errors"
	"fmt"
	"testing"
)

// TestBraces: of each byte of a pattern, where what begins there goes on: at itself, or, where an alternative
// ends, behind all of them; · is a byte at which nothing begins. Then where the alternatives of each brace
// begin.
func TestBraces(t *testing.T) {
	for _, c := range []struct{ why, pattern, follow, alts string }{
		{"nothing", "", "0", ""},
		{"bytes", "ab", "0 1 2", ""},
		{"an escape", `\*a`, "0 · 2 3", ""},
		{"an escaped letter of two bytes", `\éa`, "0 · · 3 4", ""},
		{"letters of several bytes", "é€a", "0 · 2 · · 5 6", ""},
		{"a class", "[ab]c", "0 · · · 4 5", ""},
		{"a class with a bracket in it", `[\]]c`, "0 · · · 4 5", ""},
		{"a class that is turned round", "[!a]c", "0 · · · 4 5", ""},
		{"one alternative", "{a}b", "0 1 3 3 4", "0: 1"},
		{"two", "{a,b}c", "0 1 5 3 5 5 6", "0: 1 3"},
		{"two at the end", "{a,b}", "0 1 5 3 5 5", "0: 1 3"},
		{"empty ones begin behind all of them", "{,a,}b", "0 5 2 5 5 5 6", "0: 5 2 5"},
		{"in each other", "{a,{b,c}}d", "0 1 9 3 4 9 6 9 9 9 10", "0: 1 3; 3: 4 6"},
		{"one behind the other", "{a}{b}", "0 1 3 3 4 6 6", "0: 1; 3: 4"},
		{"a comma outside", "a,b", "0 1 2 3", ""},
		{"commas that are escaped or in a class", `{\,[,]}a`, "0 1 · 3 · · 7 7 8", "0: 1"},
	} {
		follow, alts, err := braces(c.pattern)
		if err != nil {
			t.Errorf("%s: %s: %v", c.why, c.pattern, err)
			continue
		}
		got, gotAlts := "", ""
		for i, f := range follow {
			if i > 0 {
				got += " "
			}
			if f == inside {
				got += "·"
			} else {
				got += fmt.Sprint(f)
			}
		}
		for i, list := range alts {
			if len(list) == 0 {
				continue
			}
			if gotAlts != "" {
				gotAlts += "; "
			}
			gotAlts += fmt.Sprint(i) + ":"
			for _, at := range list {
				gotAlts += fmt.Sprint(" ", at)
			}
		}
		if got != c.follow || gotAlts != c.alts {
			t.Errorf("%s: %s\n got %s, %s\nwant %s, %s", c.why, c.pattern, got, gotAlts, c.follow, c.alts)
		}
	}
	for _, pattern := range []string{`\`, `a\`, "[", "[]", "[!", "[!]", "[a", `[a\]`, "{", "{a", "}", "a}", "{a}}", "{{a}",
		"{a,b"} {
		if _, _, err := braces(pattern); !errors.Is(err, ErrPattern) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestRoundsOfASet: a state is in a set once in a round, in the next again, and in that of a longer pattern as well.
func TestRoundsOfASet(t *testing.T) {
	var s set
	for round, places := range []int{1, 1, 3, 2, 3} {
		had := s.in
		s.clear(places * int(hows))
		if places < 3 && round > 0 && &had[0] != &s.in[0] {
			t.Errorf("round %d: what was large enough is allocated anew", round)
		}
		for at := range places {
			if n := (state{at, starred}); !s.add(n) || s.add(n) || len(s.list) != at+1 {
				t.Errorf("round %d: %d states of %d", round, len(s.list), places)
			}
		}
	}
}
