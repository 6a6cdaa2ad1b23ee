package report

import (
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/internal/junit"
	"github.com/belay-hooks/belay/internal/page"
)

// JUnit returns the report in the XML form that CI systems read: a suite for each
// recording, a case for each invocation, without times.
func (r *Report) JUnit() ([]byte, error) {
	out := junit.Report{Name: "belay replay " + r.Mode}
	for _, rec := range r.Recordings {
		s := junit.Suite{Name: rec.Digest}
		for _, c := range r.cases {
			if c.recording != rec.Digest {
				continue
			}
			jc := junit.Case{Class: "belay." + r.Mode, Name: page.Visible(c.name)}
			if len(c.changes) > 0 {
				jc.Failure = junitFailure(c.changes)
			}
			s.Cases = append(s.Cases, jc)
		}
		out.Suites = append(out.Suites, s)
	}
	return out.XML()
}

func junitFailure(changes []Change) *junit.Text {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s\n  was: %s\n  is:  %s\n", c.What, c.Where, c.Was, c.Is)
	}
	return &junit.Text{Type: page.Visible(changes[0].What), Message: page.Visible(changes[0].What + " " +
		changes[0].Where), Detail: page.Visible(b.String())}
}
