package fuzz

import (
	_ "embed"
	"fmt"
	"html/template"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/junit"
	"github.com/belay-hooks/belay/internal/page"
	"github.com/belay-hooks/belay/phases"
)

// Version is the only version of the report's JSON.
const Version = "belay-fuzz-report/v1"

// parts are the parts of the report's page. It says neither when nor where it was made.
//
//go:embed page.html
var parts string

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

// HTML returns the result as one page; see package page.
func (r *Result) HTML() ([]byte, error) {
	return page.Render(parts, template.FuncMap{"line": func(s string) string { return phases.SafeLine(s, 600) }}, r)
}

// JUnit returns the result as JUnit XML: a case for each class that is looked for,
// and one for each finding.
func (r *Result) JUnit() ([]byte, error) {
	suite := junit.Suite{Name: fmt.Sprintf("belay fuzz %s seed %d", r.Hook, r.Seed)}
	found := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Counts() {
			continue
		}
		found[f.Class] = true
		suite.Cases = append(suite.Cases, junit.Case{
			Class: "belay.fuzz." + f.Class, Name: phases.SafeLine(string(f.Phase)+": "+f.Text, 200),
			Failure: &junit.Text{
				Message: phases.SafeLine(f.Text, 300), Type: string(f.Severity),
				Detail: fmt.Sprintf("%s\ninput: %s\nrecording: %s", phases.SafeLine(f.How, 300), phases.SafeLine(f.Input, 600),
					f.File),
			},
		})
	}
	for _, class := range Classes() {
		if !found[class] {
			suite.Cases = append(suite.Cases, junit.Case{Class: "belay.fuzz." + class, Name: "none"})
		}
	}
	return suite.XML()
}

// Classes returns every class that counts, the worst first. The slice is the caller's.
func Classes() []string {
	return []string{
		ClassPanic, ClassUnrecorded, ClassUnstable, ClassEngines, ClassFrontDoor, ClassFailOpen, ClassEvasion, ClassFlip,
		ClassTrap, ClassFuel, ClassMemory, ClassOutput, ClassHostcall, ClassProtocol,
	}
}
