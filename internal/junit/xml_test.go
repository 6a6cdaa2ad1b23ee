package junit_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/junit"
)

func suite() junit.Suite {
	return junit.Suite{Name: "guard", File: "cases/a.yaml", Cases: []junit.Case{
		{Class: "c", Name: "passes"},
		{Class: "c", Name: "fails", Failure: &junit.Text{Message: "want <allow>", Detail: "one\n\ttwo & three\n"}},
		{Class: "c", Name: "breaks", Error: &junit.Text{Message: `no "file"`, Type: "io"}},
	}}
}

const asRoot = `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="guard" file="cases/a.yaml" tests="3" failures="1">
  <testcase classname="c" name="passes"></testcase>
  <testcase classname="c" name="fails">
    <failure message="want &lt;allow&gt;">one&#xA;&#x9;two &amp; three&#xA;</failure>
  </testcase>
  <testcase classname="c" name="breaks">
    <error message="no &#34;file&#34;" type="io"></error>
  </testcase>
</testsuite>
`

const withErrors = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="belay test" tests="4" failures="1" errors="1">
  <testsuite name="guard" file="cases/a.yaml" tests="3" failures="1" errors="1">
    <testcase classname="c" name="passes"></testcase>
    <testcase classname="c" name="fails">
      <failure message="want &lt;allow&gt;">one&#xA;&#x9;two &amp; three&#xA;</failure>
    </testcase>
    <testcase classname="c" name="breaks">
      <error message="no &#34;file&#34;" type="io"></error>
    </testcase>
  </testsuite>
  <testsuite name="other" tests="1" failures="0" errors="0">
    <testcase classname="" name="x"></testcase>
  </testsuite>
</testsuites>
`

func TestBytes(t *testing.T) {
	s := suite()
	r := junit.Report{Name: "belay test", Suites: []junit.Suite{s, {Name: "other", Cases: []junit.Case{{Name: "x"}}}},
		Errors: true}
	plain := r
	plain.Errors = false
	for _, c := range []struct {
		name string
		xml  func() ([]byte, error)
		want string
	}{
		{"suite", s.XML, asRoot},
		{"report", r.XML, withErrors},
		{"report without errors", plain.XML, strings.NewReplacer(` errors="1"`, "", ` errors="0"`, "").Replace(withErrors)},
		{"empty", (&junit.Report{Name: "n"}).XML, xml.Header + `<testsuites name="n" tests="0" failures="0"></testsuites>` +
			"\n"},
	} {
		if got, err := c.xml(); err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

// Whatever stands in a result, in any place: the file is XML, has no control character
// but line ends and tabs, and where one was there is a mark.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "\x00", "a\x1b[31mred", "\r\n", "\u0085\u009b", "\ufffe\uffff", "\xff\xfe",
		"\xed\xa0\x80", "]]>", "<!--", "&#0;", "\U0010ffff\ufeff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := &junit.Text{Message: s, Type: s, Detail: s}
		r := junit.Report{Name: s, Errors: true,
			Suites: []junit.Suite{{Name: s, File: s, Cases: []junit.Case{{Class: s, Name: s, Failure: text, Error: text}}}}}
		b, err := r.XML()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Map(func(r rune) rune {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == 0xfffe || r == 0xffff) {
				return utf8.RuneError
			}
			return r
		}, strings.ToValidUTF8(s, "\ufffd"))
		for d, last := xml.NewDecoder(strings.NewReader(string(b))), ""; ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, b)
			}
			switch x := tok.(type) {
			case xml.StartElement:
				last = x.Name.Local
				for _, a := range x.Attr {
					if n := a.Name.Local; n != "tests" && n != "failures" && n != "errors" && a.Value != want {
						t.Fatalf("%s of %s is %q, want %q", n, last, a.Value, want)
					}
				}
			case xml.CharData:
				if got := string(x); (last == "failure" || last == "error") && strings.TrimSpace(got) != "" && got != want {
					t.Fatalf("the text of %s is %q, want %q", last, got, want)
				}
			}
		}
	})
}
