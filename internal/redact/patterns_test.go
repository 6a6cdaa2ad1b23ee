package redact

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestPatterns(t *testing.T) {
	acme := Pattern{Name: "acme-badge", Regex: `\bacme_[A-Z]{4}\b`, Keywords: []string{"acme_"}}
	group := Pattern{Name: "crew", Regex: `crew no\.? ([0-9]{4,8})`, Keywords: []string{"crew no"}, Group: 1}
	first := Pattern{Name: "either", Regex: `left:(\w{6})|right:(\w{6})`, Keywords: []string{"left:", "right:"},
		FirstGroup: true}
	random := Pattern{Name: "random", Regex: `box-\w{8}`, Keywords: []string{"box-"}, Entropy: 3}
	allowed := Pattern{Name: "allowed", Regex: `tag=\w{6}`, Keywords: []string{"tag="}, Allowed: []Allowed{
		{Stopwords: []string{"SAMPLE"}}, {Regexes: []string{`# public$`}, Target: "line"},
		{Regexes: []string{`^tag=0`}, Target: "match", Stopwords: []string{"never"}, All: true},
	}}
	seat := Pattern{Name: "seat", Regex: `seat=([0-9]{4})x`, Keywords: []string{"seat="}, Group: 1,
		Allowed: []Allowed{{Regexes: []string{`^seat=00..x$`}, Target: "match"}}}
	r := newTestRedactor(t, Config{Patterns: []Pattern{acme, group, first, random, allowed, seat}})
	for text, want := range map[string]string{
		"badge ACME_QRST and acme_QRST":       "badge ACME_QRST and [redacted:acme-badge:",
		"Crew no. 4711 and crew no. 4711":     "Crew no. 4711 and crew no. [redacted:crew:",
		"left:abcdef":                         "left:[redacted:either:",
		"right:abcdef":                        "right:[redacted:either:",
		"box-aaaaaaaa box-a8Kd0QzX":           "box-aaaaaaaa [redacted:random:",
		"tag=sample tag=secr3t":               "tag=sample [redacted:allowed:",
		"tag=secr3t # public":                 "tag=secr3t # public",
		"tag=012345":                          "[redacted:allowed:",
		"seat=0042x seat=4711x":               "seat=0042x seat=[redacted:seat:",
		`{"a":"acme_\u0051RST"}`:              `{"a":"[redacted:acme-badge:`,
		"YmFkZ2UgYWNtZV9RUlNUIGlzIG1pbmU=":    "[redacted:encoded:",
		strings.Repeat("x ", 9000) + "acme_Z": strings.Repeat("x ", 9000) + "acme_Z",
	} {
		if got, _ := r.Text(text); !strings.HasPrefix(got, want) {
			t.Errorf("%.80q: %.200q, want %.80q", text, got, want)
		}
	}
	rec := NewRecord()
	doc := jsontext.Value(`{"a":"acme_QRST","b":{"cmd":"cat /x/ACME_qrst/y"}}`)
	_, _, _ = rec.JSON(r, doc)
	if out, masked, _ := rec.JSON(r, doc); len(masked) != 2 {
		t.Errorf("a pattern's secret is not known elsewhere: %s", out)
	}
	for _, f := range Find("acme_QRST") {
		t.Errorf("find_secrets knows the configuration: %v", f)
	}
}

func TestBadPatterns(t *testing.T) {
	good := Pattern{Name: "x", Regex: "abcd[0-9]", Keywords: []string{"abcd"}}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*Pattern)) Pattern { p := good; change(&p); return p }
	for want, p := range map[string]Pattern{
		"the name":           with(func(p *Pattern) { p.Name = "Not Good" }),
		"is empty":           with(func(p *Pattern) { p.Regex = "" }),
		"invalid or unsupp":  with(func(p *Pattern) { p.Regex = "(?=a)bcdef" }),
		"more than 4096":     with(func(p *Pattern) { p.Regex = strings.Repeat("a", 4097) }),
		"instructions":       with(func(p *Pattern) { p.Regex = strings.Repeat(`[\pL]{900}`, 30) }),
		"no group 1":         with(func(p *Pattern) { p.Group = 1 }),
		"of 0 characters":    with(func(p *Pattern) { p.Regex = "(abcd)*" }),
		"of 3 characters":    with(func(p *Pattern) { p.Regex = "abc|defgh" }),
		"ordinary text":      with(func(p *Pattern) { p.Regex = `.{4,}` }),
		"ordinary text such": with(func(p *Pattern) { p.Regex = `[a-z/ ]{4,}` }),
		"in lower case":      with(func(p *Pattern) { p.Keywords = []string{"ABCD"} }),
		"a keyword must":     with(func(p *Pattern) { p.Keywords = []string{"a"} }),
		"64 keywords":        with(func(p *Pattern) { p.Keywords = make([]string, 65) }),
		"an allowance is":    with(func(p *Pattern) { p.Allowed = []Allowed{{Target: "file"}} }),
		"an allowed expr":    with(func(p *Pattern) { p.Allowed = []Allowed{{Regexes: []string{"("}}} }),
	} {
		if err := p.Check(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	many := make([]Pattern, maxUnprompted+1)
	for i := range many {
		many[i] = Pattern{Name: fmt.Sprint("x", i), Regex: "abcd[0-9]"}
	}
	if _, err := New(Config{Key: make([]byte, 32), Patterns: many}); err == nil ||
		!strings.Contains(err.Error(), "have no keyword") {
		t.Errorf("%v", err)
	}
}

// A text made to cost time is redacted completely instead of being read for ever.
func TestPatternsAreBounded(t *testing.T) {
	var list []Pattern
	for i := range 200 {
		list = append(list,
			Pattern{Name: fmt.Sprint("p", i), Regex: fmt.Sprintf(`key%d(?:[a-z]{0,20}=){1,20}[0-9]{30}`, i%10),
				Keywords: []string{"key"}})
	}
	r := newTestRedactor(t, Config{Patterns: list})
	text := strings.Repeat("key1abc=", 128<<10)
	began := time.Now()
	got, _ := r.Text(text)
	if !strings.HasPrefix(got, "[redacted:unread:") || len(got) > 100 {
		t.Errorf("%.100s", got)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("1 MiB took %v", took)
	}
}
