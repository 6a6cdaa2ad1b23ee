package fuzz

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"html/template"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Version is the only version of the report's JSON.
const Version = "belay-fuzz-report/v1"

// page is the report's page. It says neither when nor where it was made.
//
//go:embed page.html
var page string

// JSON returns the result as indented JSON, the same bytes for the same result.
func (r *Result) JSON() ([]byte, error) {
	b, err := json.Marshal(struct {
		Version string `json:"version"`
		*Result `json:",inline"`
	}{Version, r}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// HTML returns the result as one page without scripts. Whatever stands in it, it
// shows as text.
func (r *Result) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"line": func(s string) string { return phases.SafeLine(s, 600) }}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, r)
	return b.Bytes(), err
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
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

// JUnit returns the result as JUnit XML: a case for each class that is looked for,
// and one for each finding.
func (r *Result) JUnit() ([]byte, error) {
	s := junitSuite{Name: fmt.Sprintf("belay fuzz %s seed %d", r.Hook, r.Seed)}
	found := map[string]bool{}
	add := func(class, name string, f *junitFailure) {
		s.Tests++
		if f != nil {
			s.Failures++
		}
		s.Cases = append(s.Cases, junitCase{Class: "belay.fuzz." + class, Name: name, Failure: f})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Counts() {
			continue
		}
		found[f.Class] = true
		text := fmt.Sprintf("%s\ninput: %s\nrecording: %s", phases.SafeLine(f.How, 300), phases.SafeLine(f.Input, 600), f.File)
		add(f.Class, phases.SafeLine(string(f.Phase)+": "+f.Text, 200), &junitFailure{Message: phases.SafeLine(f.Text, 300), Type: string(f.Severity), Text: text})
	}
	for _, class := range Classes() {
		if !found[class] {
			add(class, "none", nil)
		}
	}
	b, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

// Classes returns every class that counts, the worst first. The slice is the caller's.
func Classes() []string {
	return []string{
		ClassPanic, ClassUnrecorded, ClassUnstable, ClassEngines, ClassFrontDoor, ClassFailOpen, ClassEvasion, ClassFlip,
		ClassTrap, ClassFuel, ClassMemory, ClassOutput, ClassHostcall, ClassProtocol,
	}
}
