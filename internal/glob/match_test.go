package glob_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/glob"
)

// written returns the patterns that come of writing the alternatives out.
func written(p string) []string {
	depth, start := 0, 0
	var cuts []int
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			i += strings.IndexByte(strings.ReplaceAll(p[i:], `\]`, "..")[2:], ']') + 2
		case '{':
			if depth++; depth == 1 {
				start = i
			}
		case ',':
			if depth == 1 {
				cuts = append(cuts, i)
			}
		case '}':
			if depth--; depth == 0 {
				var out []string
				from := start + 1
				for _, c := range append(cuts, i) {
					out = append(out, written(p[:start]+p[from:c]+p[i+1:])...)
					from = c + 1
				}
				return out
			}
		}
	}
	return []string{p}
}

// plainly matches a pattern without alternatives by trying everything.
func plainly(p, s string, begins bool) bool {
	if s == "" {
		switch p {
		case "", "*", "**", "/**", "**/", "/**/":
			return true
		}
		return false
	}
	if p == "" {
		return false
	}
	if begins && p == "**" {
		return true
	}
	if begins && strings.HasPrefix(p, "**/") {
		if plainly(p[3:], s, true) {
			return true
		}
		for i := range s {
			if s[i] == '/' && plainly(p[3:], s[i+1:], true) {
				return true
			}
		}
		return false
	}
	c, n := utf8.DecodeRuneInString(s)
	switch p[0] {
	case '*':
		stars := 1
		if strings.HasPrefix(p, "**") {
			stars = 2
		}
		if plainly(p[stars:], s, false) {
			return true
		}
		if strings.HasPrefix(p[stars:], "*") || c == '/' {
			return false
		}
		return plainly(p[stars:], s[n:], false) || plainly(p, s[n:], false) && s[n:] != ""
	case '?':
		return c != '/' && plainly(p[1:], s[n:], false)
	case '[':
		end := strings.IndexByte(strings.ReplaceAll(p, `\]`, "..")[2:], ']') + 3
		one, err := glob.Compile(p[:end]) // classes have a test of their own
		if err != nil {
			return false
		}
		in, _ := one.Match(s[:n], &glob.Work{})
		return in && plainly(p[end:], s[n:], false)
	case '\\':
		p = p[1:]
	}
	r, m := utf8.DecodeRuneInString(p)
	return r == c && plainly(p[m:], s[n:], r == '/')
}

func drawPattern(t *rapid.T) string {
	parts := []string{"a", "b", "/", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[^/c]", "{", "}", ",", "\\", "\\*",
		"\\/", "\\{", "[a-c]", "[", "]",
		"-", "é", "{a,b}", "{a/,b}", "{**,a}", "{,/}", "{{a},b}", "[,}]", "[a\\]]"}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 9).Draw(t, "pattern"), "")
}

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "c", "é", "*", "]", ",", "\xff"}), 0,
		8).Draw(t, "text"), "")
}

// A pattern without alternatives matches what trying everything finds. With them
// it matches nothing that none of the written-out patterns does.
func TestMatchTriesEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern, text := drawPattern(t), drawText(t)
		g, err := glob.Compile(pattern)
		if err != nil {
			return
		}
		var w glob.Work
		got, err := g.Match(text, &w)
		if err != nil {
			t.Fatal(err)
		}
		all, want := written(pattern), false
		for _, p := range all {
			want = want || plainly(p, text, true)
		}
		want = want || got && strings.Contains(pattern, "*{") // two stars that a brace divides are no **
		if got && !want || len(all) == 1 && !strings.Contains(pattern, "{") && got != want {
			t.Fatalf("%q with %q: %v", pattern, text, got)
		}
		if bound := stepBound(pattern, text); w.Steps > bound {
			t.Fatalf("%q with %q: %d steps, %d are the bound", pattern, text, w.Steps, bound)
		}
	})
}

func stepBound(pattern, text string) int {
	return 5 * (len(pattern) + 1) * utf8.RuneCountInString(text)
}

// Alternatives that multiply when they are written out, stars that each could end
// anywhere, and directories that could begin anywhere take no more steps than places times characters.
func TestStepsAreLinear(t *testing.T) {
	for _, tc := range []struct{ pattern, text string }{
		{strings.Repeat("{{x},a,aa}", 30), strings.Repeat("a", 45) + "!"},
		{strings.Repeat("{a,a}", 200), strings.Repeat("a", 201)},
		{strings.Repeat("{,", 300) + strings.Repeat("}", 300) + "b", strings.Repeat("a", 4096)},
		{strings.Repeat("*a", 500) + "b", strings.Repeat("a", 4096)},
		{strings.Repeat("**/", 300) + "b", strings.Repeat("a/", 2048)},
		{strings.Repeat("**/*a", 200) + "b", strings.Repeat("a/", 2048)},
		{strings.Repeat("{**/,*}", 140) + "b", strings.Repeat("a/", 2048)},
		{strings.Repeat("{,}", 300), ""},
		{"*[" + strings.Repeat("a-b", 300) + "]c", strings.Repeat("a", 4096)},
	} {
		g, err := glob.Compile(tc.pattern)
		if err != nil {
			t.Fatalf("%.20q: %v", tc.pattern, err)
		}
		w := glob.Work{Max: stepBound(tc.pattern, tc.text)}
		if _, err := g.Match(tc.text, &w); err != nil {
			t.Errorf("%.20q: %v after %d steps", tc.pattern, err, w.Steps)
		}
	}
}

// Steps add up over matches; the bound and the caller's word end a match.
func TestWork(t *testing.T) {
	g, err := glob.Compile(strings.Repeat("*a", 50))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", 1000)
	var w glob.Work
	if ok, err := g.Match(text, &w); !ok || err != nil {
		t.Fatal(ok, err)
	}
	whole := w.Steps
	if _, err := g.Match(text, &w); err != nil || w.Steps != 2*whole {
		t.Errorf("%d and then %d steps: %v", whole, w.Steps, err)
	}
	for _, max := range []int{whole, whole - 1} {
		w := glob.Work{Max: max}
		if _, err := g.Match(text, &w); (err == nil) != (max == whole) || err != nil && !errors.Is(err, glob.ErrWork) {
			t.Errorf("%d of %d steps: %v", max, whole, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w = glob.Work{Stop: ctx.Err}
	if _, err := g.Match(text, &w); !errors.Is(err, context.Canceled) || w.Steps > 4096 {
		t.Errorf("stopped after %d steps: %v", w.Steps, err)
	}
}

// TestStepsOfOneMatch: a match takes the steps that it needs, and no more once nothing is left to match. Where it
// does not end it has no answer, and it asks whether to stop once in 4096 steps.
func TestStepsOfOneMatch(t *testing.T) {
	for _, c := range []struct {
		why, pattern, text string
		steps              int
	}{
		{"one for each character", "abc", "abc", 3},
		{"none behind the first that differs", "abc", "x" + strings.Repeat("c", 50), 1},
		{"none behind **, which takes all that is left", "a/**", "a/" + strings.Repeat("b", 50), 3},
	} {
		g, err := glob.Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		w := glob.Work{}
		if _, err := g.Match(c.text, &w); err != nil || w.Steps != c.steps {
			t.Errorf("%s: %d steps, want %d (%v)", c.why, w.Steps, c.steps, err)
		}
		for max := 1; max < c.steps; max++ {
			if ok, err := g.Match(c.text, &glob.Work{Max: max}); ok || !errors.Is(err, glob.ErrWork) {
				t.Errorf("%s: %v, %v within %d steps", c.why, ok, err, max)
			}
		}
	}
	g, err := glob.Compile(strings.Repeat("a", 9000))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	w := glob.Work{Stop: func() error { asked++; return nil }}
	if _, err := g.Match(strings.Repeat("a", 9000), &w); err != nil || asked != 2 {
		t.Errorf("asked %d times in %d steps (%v)", asked, w.Steps, err)
	}
}

func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{{"**/{a,b}/[x-z]?", "q/a/x1"}, {"{{x},a,aa}*", "aab"}, {"[!\\]-é]", "ü"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		g, err := glob.Compile(pattern)
		if err != nil {
			return
		}
		w := glob.Work{Max: stepBound(pattern, text)}
		if _, err := g.Match(text, &w); err != nil {
			t.Fatalf("%v after %d steps", err, w.Steps)
		}
	})
}

func BenchmarkSteps(b *testing.B) {
	g, err := glob.Compile(strings.Repeat("{{x},a,aa}", 30) + "*b")
	if err != nil {
		b.Fatal(err)
	}
	var w glob.Work
	text := strings.Repeat("a", 4096)
	for b.Loop() {
		_, _ = g.Match(text, &w)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(w.Steps), "ns/step")
}

func BenchmarkCompile(b *testing.B) {
	p := strings.Repeat("{a,[b-c],*}/", 85)
	for b.Loop() {
		if _, err := glob.Compile(p); err != nil {
			b.Fatal(err)
		}
	}
}
