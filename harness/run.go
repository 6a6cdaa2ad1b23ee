package harness

import (
	"context"
	"os"
	"regexp"
	"slices"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// RunOptions say how suites are run. The zero value runs all cases.
type RunOptions struct {
	// StateDir is a state directory whose compiled code is used, and nothing else of it;
	// "" uses none.
	StateDir string
	Build    bool           // build hooks from their source, also those whose module lies beside it
	Only     *regexp.Regexp // cases whose name it matches; nil: all
	Update   bool           // write the goldens of suites whose cases all pass

	// Keys open sealed recordings that cases name. Differences of such cases are redacted,
	// and goldens never hold them.
	Keys Keys
}

// Results are the results of suites.
type Results struct {
	Cases  []CaseResult
	suites []suite.SuiteResult
}

// CaseResult is the result of one case.
type CaseResult struct {
	Suite string // its file
	Line  int    // in the file
	Name  string
	Hook  string

	// Status is pass, fail, error for a case that could not be run, or golden for one that
	// differs from its golden only. A case that only the golden has is golden, too.
	Status      string
	Differences []string       // from the case and from its golden
	Err         error          // of status error
	Verdict     phases.Verdict // of the case's own invocation; empty with status error
}

// Run runs suites, in the order of paths: a file, a hook's folder, a folder of suites, or
// DIR/... for every hook below DIR. Each case has a kernel and a store of its own, in
// memory. Errors say that a suite could not be found, read or run, or that its hook could
// not be built.
func Run(ctx context.Context, o RunOptions, paths ...string) (*Results, error) {
	files, _, err := suite.Find(paths)
	if err != nil {
		return nil, err
	}
	ids, err := o.Keys.identities()
	if err != nil {
		return nil, err
	}
	engine, err := suite.OpenEngine(suite.EngineOptions{Dir: o.StateDir, Identities: ids})
	if err != nil {
		return nil, err
	}
	defer func() { _ = engine.Close() }()
	work, err := os.MkdirTemp("", "belay-suites-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	modules := suite.Locator{Build: o.Build, WorkDir: work}
	out := &Results{}
	for _, file := range files {
		s, err := suite.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := modules.Module(ctx, s)
		if err != nil {
			return nil, err
		}
		res, err := engine.Hook(m.Name, m.File).RunSuite(ctx, s, suite.Options{Run: o.Only, Update: o.Update})
		if err != nil {
			return nil, err
		}
		out.add(res)
	}
	return out, nil
}

func (r *Results) add(res suite.SuiteResult) {
	for i := range res.Cases {
		c := &res.Cases[i]
		one := CaseResult{Suite: res.File, Line: c.Line, Name: c.Case, Hook: res.Hook, Status: c.Status(), Err: c.Err,
			Verdict: c.Verdict}
		for _, d := range slices.Concat(c.Differences, c.Golden) {
			one.Differences = append(one.Differences, d.String())
		}
		r.Cases = append(r.Cases, one)
	}
	for _, name := range res.Left {
		r.Cases = append(r.Cases, CaseResult{Suite: res.File, Name: name, Hook: res.Hook, Status: "golden",
			Differences: []string{"the golden has the case, and the suite has not"}})
	}
	r.suites = append(r.suites, res)
}

// Passed reports whether every case passed. It is false without any.
func (r *Results) Passed() bool {
	return len(r.Cases) > 0 && !slices.ContainsFunc(r.Cases, func(c CaseResult) bool { return c.Status != "pass" })
}

// JUnit returns the results in the XML form that CI systems read, without times.
func (r *Results) JUnit() ([]byte, error) { return suite.JUnit(r.suites) }
