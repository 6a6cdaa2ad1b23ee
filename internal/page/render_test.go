package page_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/page"
	"github.com/belay-hooks/belay/internal/page/pagetest"
)

const parts = `{{define "title"}}{{visible .}}{{end}}
{{define "summary"}}<h1>{{visible .}}</h1>{{end}}
{{define "details"}}<h2>A</h2><p title="{{visible .}}">{{visible .}}</p>{{bar 50 "now"}}{{end}}
{{define "notes"}}<p>{{visible .}}</p>{{end}}`

// Whatever a report holds stands on its page as text.
func TestHostileText(t *testing.T) {
	b, err := page.Render(parts, nil, pagetest.Hostile)
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, b)
	if bytes.Count(b, []byte("alert(1)")) < 4 || bytes.Contains(b, []byte("ZgotmplZ")) {
		t.Errorf("%s", b)
	}
	again, err := page.Render(parts, nil, pagetest.Hostile)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("the bytes differ, %v", err)
	}
}

// Text can be read on a light screen, on a dark one and on paper: the contrasts are those that WCAG 2.2 asks for at
// level AA, 4.5 for text and 3 for parts of pictures.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("style.css")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`:root\{([^}]*)\}`)
	value := regexp.MustCompile(`--([a-z-]+):(#[0-9a-f]{3,6})`)
	light := map[string]string{}
	themes := block.FindAllSubmatch(css, -1)
	if len(themes) != 3 {
		t.Fatalf("%d themes, want light, dark and paper", len(themes))
	}
	pairs := []struct {
		text, on string
		least    float64
	}{
		{"ink", "bg", 4.5}, {"ink", "card", 4.5}, {"ink", "code", 4.5}, {"soft", "bg", 4.5}, {"soft", "card", 4.5},
		{"soft", "code", 4.5}, {"allow", "allow-bg", 4.5}, {"ask", "ask-bg", 4.5}, {"block", "block-bg", 4.5},
		{"block", "card", 4.5}, {"allow", "card", 4.5}, {"was", "was-bg", 4.5}, {"is", "is-bg", 4.5}, {"now", "card", 4.5},
		{"now", "bg", 4.5}, {"ink", "allow-bg", 4.5}, {"ink", "ask-bg", 4.5}, {"ink", "block-bg", 4.5},
		{"soft", "allow-bg", 3}, {"soft", "ask-bg", 3}, {"soft", "block-bg", 3}, {"ask", "card", 3}, {"base", "card", 1.5},
	}
	for i, name := range []string{"light", "dark", "paper"} {
		theme := map[string]string{}
		for k, v := range light { // the others change what they name
			theme[k] = v
		}
		for _, m := range value.FindAllSubmatch(themes[i][1], -1) {
			theme[string(m[1])] = string(m[2])
		}
		if i == 0 {
			light = theme
		}
		for _, p := range pairs {
			if got := contrast(t, theme[p.text], theme[p.on]); got < p.least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", name, p.text, p.on, got, p.least)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	one, other := luminance(t, a), luminance(t, b)
	return (max(one, other) + 0.05) / (min(one, other) + 0.05)
}

// luminance is the relative luminance of a colour, as WCAG defines it.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	hex := strings.TrimPrefix(colour, "#")
	if len(hex) == 3 {
		hex = fmt.Sprintf("%c%c%c%c%c%c", hex[0], hex[0], hex[1], hex[1], hex[2], hex[2])
	}
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatalf("%q is no colour", colour)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		page.Count(1234567): "1\u202f234\u202f567", page.Count(-1234): "-1\u202f234", page.Count(12): "12",
		page.Short(9999): "9\u202f999", page.Short(12_345): "12.3\u202fk", page.Short(1e7): "10\u202fM",
		page.Bytes(5): "5 B", page.Bytes(2048): "2 KiB", page.Bytes(3 << 20): "3.0 MiB",
		page.Micros(12): "12 µs", page.Micros(1234): "1.2 ms", page.Micros(45678): "45 ms", page.Micros(2_500_000): "2.5 s",
		page.Micros(1000): "1 ms", page.Micros(900_000_000): "15 min", page.Micros(9_000_000_000): "2.5 h",
		page.Plural(1, "ask", "asks"): "1 ask", page.Plural(1000, "ask", "asks"): "1\u202f000 asks",
		page.Visible("a\u202eb\x00"): `a\u202eb\u0000`,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A meter's parts join without a gap and fill it; figures that were never measured break nothing.
func TestMeter(t *testing.T) {
	got := string(page.Meter([]page.Part{{Class: "same", Count: 1}, {Class: "flip"}, {Class: "oth", Count: 2}}))
	for _, want := range []string{`class="same" x="0" width="333"`, `class="oth" x="333" width="667"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s holds no %s", got, want)
		}
	}
	if page.Meter(nil) != "" || strings.Contains(got, "flip") {
		t.Errorf("%s", got)
	}
	got = string(page.Bar(-5, `"><script>`))
	if strings.Contains(got, "<script") || !strings.Contains(got, `width="0%"`) {
		t.Error(got)
	}
}

// A chart says in words what it shows, and names are texts. A lane has a scale of its own.
func TestCharts(t *testing.T) {
	lanes := string(page.Lanes("l", pagetest.Hostile, []string{"mon", pagetest.Hostile}, "day", []page.Lane{
		{Name: "allowed", Class: "allow", Values: []int{5000, 2500}},
		{Name: "blocked", Class: "block", Values: []int{0, 1}}}))
	for _, want := range []string{`height="46"><title>mon: 5`, `height="23">`, `>most a day</text>`,
		`class="block"`, `role="img" aria-labelledby="l"><title id="l">&lt;/style&gt;`} {
		if !strings.Contains(lanes, want) {
			t.Errorf("%s holds no %s", lanes, want)
		}
	}
	if strings.Count(lanes, `class="block"`) != 1 || strings.Contains(lanes, "<script") ||
		strings.Contains(lanes, "<img") {
		t.Error(lanes)
	}
	ranges := string(page.Ranges("r", "Time", []page.Range{
		{Name: pagetest.Hostile, P50: 10, P90: 100, P99: 1000, Max: 1000},
		{Name: "none"}, {Name: "huge", P50: 1, P90: 2, P99: 3, Max: math.MaxInt64}}, page.Short))
	if strings.Contains(ranges, "<script") || strings.Contains(ranges, "NaN") || strings.Contains(ranges, "-9223") {
		t.Error(ranges)
	}
	one := string(page.Ranges("r", "Time", []page.Range{{P50: 10, P90: 100, P99: 1000, Max: 1000}}, page.Micros))
	for _, want := range []string{`cx="190"`, `x1="530" y1="11" x2="530" y2="25"`,
		`x="866"`, `>10 µs</text>`, `>1 ms</text>`} {
		if !strings.Contains(one, want) {
			t.Errorf("%s holds no %s", one, want)
		}
	}
	if got := page.Ranges("r", "Time", nil, page.Micros); got == "" {
		t.Error("no picture")
	}
}
