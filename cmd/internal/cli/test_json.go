package cli

import (
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

type suiteJSON struct {
	Suite   string     `json:"suite"`
	Hook    string     `json:"hook,omitzero"`
	Digest  string     `json:"digest,omitzero"`
	Error   string     `json:"error,omitzero"` // why it could not be run
	Cases   []caseJSON `json:"cases"`
	Left    []string   `json:"left,omitzero"`
	Skipped int        `json:"skipped,omitzero"`
	Updated bool       `json:"updated,omitzero"`

	// BuiltAnew is how the source differs from the module that lies there, for which the hook was built anew.
	BuiltAnew []hookbuild.Change `json:"built_anew,omitzero"`
}

type caseJSON struct {
	Name        string             `json:"name"`
	Line        int                `json:"line,omitzero"`
	Status      string             `json:"status"` // pass, fail, error, golden
	Error       string             `json:"error,omitzero"`
	Decision    phases.Decision    `json:"decision,omitzero"`
	Fuel        int64              `json:"fuel"`
	MemoryPeak  int64              `json:"memory_peak"`
	Differences []suite.Difference `json:"differences,omitzero"`
	Golden      []suite.Difference `json:"golden,omitzero"`
}

func testJSON(run *testRun, sum testSummary) any {
	out := struct {
		Suites   []suiteJSON `json:"suites"`
		Without  []string    `json:"without_cases,omitzero"`
		Coverage []coverJSON `json:"coverage,omitzero"`
		Summary  testSummary `json:"summary"`
	}{Suites: []suiteJSON{}, Without: run.without, Summary: sum}
	for i := range run.suites {
		s := &run.suites[i]
		js := suiteJSON{Suite: s.file, Hook: s.res.Hook, Digest: s.res.Digest, Cases: []caseJSON{}, Left: s.res.Left,
			Skipped: s.res.Skipped, Updated: s.res.Updated, BuiltAnew: s.stale}
		if s.err != nil {
			js.Error = s.err.Error()
		}
		for k := range s.res.Cases {
			c := &s.res.Cases[k]
			jc := caseJSON{Name: c.Case, Line: c.Line, Status: c.Status(), Decision: c.Verdict.Decision,
				Differences: c.Differences, Golden: c.Golden}
			if c.Err != nil {
				jc.Error = c.Err.Error()
			}
			for _, h := range c.Verdict.Hooks {
				jc.Fuel, jc.MemoryPeak = jc.Fuel+h.Fuel, max(jc.MemoryPeak, h.MemoryPeak)
			}
			js.Cases = append(js.Cases, jc)
		}
		out.Suites = append(out.Suites, js)
	}
	for _, c := range run.cover {
		out.Coverage = append(out.Coverage, c.json())
	}
	return out
}
