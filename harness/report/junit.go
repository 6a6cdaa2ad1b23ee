package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit returns the report in the XML form that CI systems read: a suite for each
// recording, a case for each invocation, without times.
func (r *Report) JUnit() ([]byte, error) {
	out := junitSuites{Name: "belay replay " + r.Mode}
	for _, rec := range r.Recordings {
		s := junitSuite{Name: rec.Digest}
		for _, c := range r.cases {
			if c.recording != rec.Digest {
				continue
			}
			jc := junitCase{Class: "belay." + r.Mode, Name: xmlText(c.name)}
			s.Tests++
			if len(c.changes) > 0 {
				s.Failures++
				jc.Failure = junitFailureOf(c.changes)
			}
			s.Cases = append(s.Cases, jc)
		}
		out.Tests, out.Failures = out.Tests+s.Tests, out.Failures+s.Failures
		out.Suites = append(out.Suites, s)
	}
	b, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(append([]byte(xml.Header), b...), '\n'), nil
}

func junitFailureOf(changes []Change) *junitFailure {
	f := &junitFailure{Type: changes[0].What, Message: xmlText(changes[0].What + " " + changes[0].Where)}
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s\n  was: %s\n  is:  %s\n", c.What, c.Where, c.Was, c.Is)
	}
	f.Text = xmlText(b.String())
	return f
}

// xmlText leaves out what XML cannot hold; the rest is escaped by the encoder.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && r != 0xfffe && r != 0xffff {
			return r
		}
		return '\uFFFD'
	}, s)
}
