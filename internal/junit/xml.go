// Package junit writes results in the XML form that CI systems read. It decides how results
// become bytes: which counts there are, and how characters are written that XML cannot hold.
// It knows neither clocks nor machines, so that the same results are the same bytes, and it
// never reads such a file.
//
// The form has no standard. Jenkins, GitLab and the JUnit plugins agree on testsuites,
// testsuite, testcase, failure and error.
package junit

import (
	"encoding/xml"
	"slices"
	"strings"
	"unicode"
)

// Report is several suites in one file.
type Report struct {
	Name   string
	Suites []Suite
	Errors bool // cases can have errors: they are counted, also when there are none
}

// Suite is a group of cases.
type Suite struct {
	Name  string
	File  string // where its cases stand; "" leaves it out
	Cases []Case
}

// Case is one thing that was looked at. Without Failure and Error it has passed.
type Case struct {
	Class, Name string
	Failure     *Text // it is not as it has to be
	Error       *Text // it could not be found out
}

// Text is a fault. Type and Detail may be empty.
type Text struct {
	Message, Type, Detail string
}

type suitesXML struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   *int       `xml:"errors,attr"`
	Suites   []suiteXML `xml:"testsuite"`
}

type suiteXML struct {
	XMLName  xml.Name  `xml:"testsuite"`
	Name     string    `xml:"name,attr"`
	File     string    `xml:"file,attr,omitempty"`
	Tests    int       `xml:"tests,attr"`
	Failures int       `xml:"failures,attr"`
	Errors   *int      `xml:"errors,attr"`
	Cases    []caseXML `xml:"testcase"`
}

type caseXML struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *textXML `xml:"failure,omitempty"`
	Error   *textXML `xml:"error,omitempty"`
}

type textXML struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Detail  string `xml:",chardata"`
}

// XML returns the report, with testsuites as its root.
func (r *Report) XML() ([]byte, error) {
	out := suitesXML{Name: clean(r.Name)}
	if r.Errors {
		out.Errors = new(int)
	}
	for i := range r.Suites {
		s := r.Suites[i].xml(r.Errors)
		out.Tests, out.Failures = out.Tests+s.Tests, out.Failures+s.Failures
		if r.Errors {
			*out.Errors += *s.Errors
		}
		out.Suites = append(out.Suites, s)
	}
	return marshal(out)
}

// XML returns the suite alone, as the root of its file, without a count of errors.
func (s *Suite) XML() ([]byte, error) { return marshal(s.xml(false)) }

func (s *Suite) xml(errors bool) suiteXML {
	out := suiteXML{Name: clean(s.Name), File: clean(s.File), Tests: len(s.Cases)}
	if errors {
		out.Errors = new(int)
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		out.Cases = append(out.Cases,
			caseXML{Class: clean(c.Class), Name: clean(c.Name), Failure: c.Failure.xml(), Error: c.Error.xml()})
		if c.Failure != nil {
			out.Failures++
		}
		if errors && c.Error != nil {
			*out.Errors++
		}
	}
	return out
}

func (t *Text) xml() *textXML {
	if t == nil {
		return nil
	}
	return &textXML{Message: clean(t.Message), Type: clean(t.Type), Detail: clean(t.Detail)}
}

func marshal(v any) ([]byte, error) {
	b, err := xml.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(xml.Header), b, []byte{'\n'}), nil
}

// clean puts U+FFFD in the place of characters that XML 1.0 cannot hold (section 2.2), and
// of control characters that steer a terminal: readers see that something was there. The
// encoder escapes the rest.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && r != 0xfffe && r != 0xffff {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
