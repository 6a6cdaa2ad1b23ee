package suite

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/internal/junit"
)

// JUnit returns results in the XML form that CI systems read, without times: the
// same results are the same bytes.
func JUnit(suites []SuiteResult) ([]byte, error) {
	out := junit.Report{Name: "belay test", Errors: true}
	for i := range suites {
		s := &suites[i]
		js := junit.Suite{Name: s.Hook, File: filepath.ToSlash(s.File)}
		for k := range s.Cases {
			js.Cases = append(js.Cases, junitCase(&s.Cases[k], s.Hook))
		}
		out.Suites = append(out.Suites, js)
	}
	return out.XML()
}

func junitCase(c *CaseResult, hook string) junit.Case {
	jc := junit.Case{Class: hook, Name: c.Case}
	switch c.Status() {
	case "error":
		jc.Error = &junit.Text{Message: c.Err.Error()}
	case "fail", "golden":
		var b strings.Builder
		all := append(append([]Difference{}, c.Differences...), c.Golden...)
		for _, d := range all {
			fmt.Fprintf(&b, "%s\n  want: %s\n  got:  %s\n", d.What, d.Want, d.Got)
		}
		jc.Failure = &junit.Text{Message: all[0].String(), Detail: b.String()}
	}
	return jc
}
