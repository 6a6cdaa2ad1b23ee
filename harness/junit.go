package harness

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	File     string      `xml:"file,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure,omitempty"`
	Error   *junitText `xml:"error,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit returns results in the XML form that CI systems read, without times: the
// same results are the same bytes.
func JUnit(suites []SuiteResult) ([]byte, error) {
	out := junitSuites{Name: "belay test"}
	for i := range suites {
		s := &suites[i]
		js := junitSuite{Name: xmlText(s.Hook), File: xmlText(filepath.ToSlash(s.File))}
		for k := range s.Cases {
			js.add(&s.Cases[k], s.Hook)
		}
		out.Tests, out.Failures, out.Errors = out.Tests+js.Tests, out.Failures+js.Failures, out.Errors+js.Errors
		out.Suites = append(out.Suites, js)
	}
	b, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(append([]byte(xml.Header), b...), '\n'), nil
}

func (s *junitSuite) add(c *CaseResult, hook string) {
	jc := junitCase{Class: xmlText(hook), Name: xmlText(c.Case)}
	s.Tests++
	switch c.Status() {
	case "error":
		s.Errors++
		jc.Error = &junitText{Message: xmlText(c.Err.Error())}
	case "fail", "golden":
		s.Failures++
		var b strings.Builder
		all := append(append([]Difference{}, c.Differences...), c.Golden...)
		for _, d := range all {
			fmt.Fprintf(&b, "%s\n  want: %s\n  got:  %s\n", d.What, d.Want, d.Got)
		}
		jc.Failure = &junitText{Message: xmlText(all[0].String()), Text: xmlText(b.String())}
	}
	s.Cases = append(s.Cases, jc)
}

// xmlText leaves out what XML cannot hold; the rest is escaped by the encoder.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && r != 0xfffe && r != 0xffff {
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
