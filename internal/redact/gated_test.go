package redact

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// gateDetectors are detectors of the kinds of configurations that there are.
func gateDetectors(t testing.TB) []detector {
	t.Helper()
	ps, err := newPatterns([]Pattern{{Name: "mine", Regex: `mine-[0-9]{6}`, Keywords: []string{"mine-"}},
		{Name: "any", Regex: `zq[0-9]{8}`}})
	if err != nil {
		t.Fatal(err)
	}
	return []detector{{}, {names: map[string]bool{"notes": true},
		exact: newExactSet([]string{"hunter2hunter2"}), patterns: ps}}
}

// censusOf is the census of a text as the detector takes it.
func censusOf(d *detector, s string) *census {
	var r room
	r.take(d, s)
	return &r.census
}

// checkGates fails if a gate keeps a detector from something that it would find, or if all of them together change
// what is found.
func checkGates(t testing.TB, d detector, s string) {
	t.Helper()
	if len(s) > MaxText {
		return
	}
	c := censusOf(&d, s)
	var everywhere census
	everywhere.take(s, true)
	everywhere.open(s)
	for n, may := range d.glances(c) {
		if may {
			continue
		}
		finders[n](&d, s, &everywhere, func(kind string, from, to int) {
			t.Errorf("gate %d keeps its detector from a %s: %q in %.200q", n, kind, s[from:to], s)
		})
	}
	none := func(kind string, from, to int) {
		t.Errorf("a gate keeps a layer from a %s: %q in %.200q", kind, s[from:to], s)
	}
	if !c.opens() {
		d.encoded(s, everywhere.runs, none)
	}
	if !c.dumps() {
		d.dumped(s, none)
	}
	if bare := unwrapped(s, nil); !c.wraps() && bare.text != "" {
		t.Errorf("there is something to unwrap in %.200q", s)
	}
	open := d
	open.ungated = true
	if got, want := d.find(s), open.find(s); !slices.Equal(got, want) {
		t.Errorf("%.300q:\n gated %+v\nungated %+v", s, got, want)
	}
	d.harmless = newHarmless()
	for range 2 { // looked through, then looked up
		if got, want := d.find(s), open.find(s); !slices.Equal(got, want) {
			t.Errorf("with what is harmless, %.300q:\n gated %+v\nungated %+v", s, got, want)
		}
	}
	var record Record
	d.record = &record
	if got, want := d.find(s), open.find(s); !slices.Equal(got, want) {
		t.Errorf("in a record, %.300q:\n gated %+v\nungated %+v", s, got, want)
	}
}

// corpusTexts are all texts of the corpora, whole and by line.
func corpusTexts(t testing.TB) []string {
	t.Helper()
	var out []string
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		b, err := os.ReadFile("testdata/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	for _, c := range samples(t) {
		out = append(out, c.Text)
		out = append(out, c.Secrets...)
	}
	return out
}

// Over all corpora, and parts of their texts, each finding is the one that all detectors together make.
func TestGatesChangeNoFinding(t *testing.T) {
	detectors := gateDetectors(t)
	texts := corpusTexts(t)
	found := 0
	for n, s := range texts {
		for i, d := range detectors {
			if i == 0 || n%8 == 0 {
				checkGates(t, d, s)
			}
		}
		// Alone, without what stands round it, a secret has few bytes that let a detector look.
		for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \"'=:,.\n", r) }) {
			if len(part) > 20 {
				checkGates(t, detectors[0], part)
			}
		}
		found += len(detectors[0].find(s))
	}
	if len(texts) < 500 || found < 500 {
		t.Errorf("%d texts with %d findings are no corpus", len(texts), found)
	}
}

func FuzzGates(f *testing.F) {
	for n, s := range corpusTexts(f) {
		if n%16 == 0 && len(s) < 2000 {
			f.Add(s)
		}
	}
	detectors := gateDetectors(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range detectors {
			checkGates(t, d, s)
		}
	})
}

func TestCensus(t *testing.T) {
	var d detector
	c := censusOf(&d, "ab \xff-ab+/==")
	if !c.has('a') || c.has('c') || !c.any("xb") || c.any("xy") || !c.all("ab-") || c.all("abc") || !c.has(0xff) ||
		c.size != 11 || c.opens() || !c.wraps() {
		t.Errorf("%+v", c)
	}
	if c := censusOf(&d, ""); c.size != 0 || c.opens() || c.any("\x00a") || c.wraps() {
		t.Errorf("%+v", c)
	}
}

// What is remembered is bounded and holds no text; who finds nothing says nothing about others.
func TestWhatIsHarmless(t *testing.T) {
	plain, named := testRedactor(t), testRedactor(t)
	named.names["remark"] = true
	const text = "a remark: zebra and a few more words of prose"
	for range 2 {
		if out, found := plain.Text(text); out != text || found != nil {
			t.Errorf("%q %v", out, found)
		}
		if out, _ := named.Text(text); strings.Contains(out, "zebra") {
			t.Errorf("%q", out)
		}
	}
	mark, ok := plain.harmless.mark(text)
	if !ok || !plain.harmless.has(mark) {
		t.Error("a harmless text is not remembered")
	}
	if other, _ := named.harmless.mark(text); other == mark {
		t.Error("two processes would have the same digests")
	}
	secret := "the key is ghp_" + strings.Repeat("Ab3dEf7h", 5)
	if _, found := plain.Text(secret); len(found) == 0 {
		t.Fatal("nothing found")
	}
	if mark, _ := plain.harmless.mark(secret); plain.harmless.has(mark) {
		t.Error("a secret is remembered as harmless")
	}
	for n := range 3 * harmlessSets * harmlessWays {
		mark, _ := plain.harmless.mark(fmt.Sprintf("some words of prose, number %d", n))
		plain.harmless.add(mark)
	}
	for _, s := range []string{"short", strings.Repeat("x", maxHarmless+1)} {
		if _, ok := plain.harmless.mark(s); ok {
			t.Errorf("%.20q is remembered", s)
		}
	}
}

func TestHarmlessIsForManyCallers(t *testing.T) {
	r := testRedactor(t)
	done := make(chan bool)
	for g := range 8 {
		go func() {
			defer func() { done <- true }()
			for n := range 300 {
				s := fmt.Sprintf("the words of caller %d or %d, all harmless", g%2, n%10)
				if out, found := r.Text(s); out != s || found != nil {
					t.Errorf("%q %v", out, found)
				}
			}
		}()
	}
	for range 8 {
		<-done
	}
}

// Each run that is long enough is seen wherever it stands, once and in full, however it lies in the blocks of the first
// look; none that is shorter is.
func TestRuns(t *testing.T) {
	var d detector
	for length := range 5 * leastRun {
		for before := range 130 {
			for _, fill := range []string{" ", "ab ", "abcdefghij ", "abcdefghijk, "} {
				head := strings.Repeat(fill, 1+before/len(fill)) + strings.Repeat(" ", before%len(fill))
				for _, tail := range []string{" y", ""} {
					s := head + strings.Repeat("x", length) + tail
					var want []span
					if length >= leastRun {
						want = []span{{len(head), len(head) + length}}
					}
					if c := censusOf(&d, s); !slices.Equal(c.runs, want) {
						t.Fatalf("%q: %v, want %v", s, c.runs, want)
					}
					next := nextRun(s, 0, &tokenByte, leastRun)
					if next != append(want, span{})[0] {
						t.Fatalf("%q: the next run is %v", s, next)
					}
				}
			}
		}
	}
	text := strings.Repeat("a", 64) + " " + strings.Repeat("b", 130) + " c " + strings.Repeat("d", leastRun) + "\n" +
		strings.Repeat("e", 2*leastRun) + "  f"
	var want []span
	for r := nextRun(text, 0, &tokenByte, leastRun); r.to > 0; r = nextRun(text, r.to, &tokenByte, leastRun) {
		want = append(want, r)
	}
	if c := censusOf(&d, text); len(want) != 4 || !slices.Equal(c.runs, want) {
		t.Errorf("%v, want %v", c.runs, want)
	}
}

// What is looked for in a run is as long as the shortest that a census notes, and made of what it takes a run to be.
func TestRunsHoldWhatIsLookedFor(t *testing.T) {
	for _, f := range issuers() {
		if len(f.prefix)+f.min < leastRun {
			t.Errorf("%s of %d characters is in no run", f.kind, len(f.prefix)+f.min)
		}
	}
	if min(minBody, minShape, minTelling, minJWT) < leastRun {
		t.Error("something shorter is looked for in runs")
	}
	for c := range 256 {
		if (baseByte[c] || nameByte[c] || inClass(byte(c), "w_~.-:=")) && !tokenByte[c] {
			t.Errorf("%q ends a run", rune(c))
		}
	}
}

// contains says what strings.Contains says.
func TestContains(t *testing.T) {
	texts := corpusTexts(t)
	for n, s := range texts {
		for _, f := range programFlags {
			if got := contains(s, f.program); got != strings.Contains(s, f.program) {
				t.Errorf("%q in %.200q: %v", f.program, s, got)
			}
		}
		other := texts[(n*7+1)%len(texts)]
		for _, w := range []string{"curl", " ", "e", s, other, s[:len(s)/2] + "x", other[len(other)/3:]} {
			if w != "" && contains(s, w) != strings.Contains(s, w) {
				t.Errorf("%q in %.200q", w, s)
			}
		}
	}
}
