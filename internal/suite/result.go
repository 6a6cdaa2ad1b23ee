package suite

import (
	"context"
	"fmt"
	"regexp"
)

// Options say how a suite is run.
type Options struct {
	Run    *regexp.Regexp // only cases whose name it matches; nil means all
	Update bool           // write the golden anew when every case passed
}

// CaseResult is the result of one case of a suite.
type CaseResult struct {
	Result
	Err    error        // why it could not be run; nil when it was
	Golden []Difference // from the golden of the suite
}

// Status is pass, fail, error, or golden for a case that differs from its golden
// only.
func (r *CaseResult) Status() string {
	switch {
	case r.Err != nil:
		return "error"
	case !r.Passed():
		return "fail"
	case len(r.Golden) > 0:
		return "golden"
	}
	return "pass"
}

// SuiteResult is the result of one suite.
type SuiteResult struct {
	File    string
	Hook    string // its name
	Digest  string // of its module
	Cases   []CaseResult
	Left    []string // cases of the golden that the suite has no more
	Updated bool     // the golden was written
	Skipped int      // cases that Options.Run left out
}

// Count returns how many cases have a status.
func (r *SuiteResult) Count(status string) int {
	n := 0
	for i := range r.Cases {
		if r.Cases[i].Status() == status {
			n++
		}
	}
	return n
}

// RunSuite runs the cases of a suite in order. The error says that the suite as a
// whole could not be run; everything else is in the result.
func (h *Hook) RunSuite(ctx context.Context, s *Suite, o Options) (SuiteResult, error) {
	res := SuiteResult{File: s.file, Hook: h.name, Digest: h.Digest()}
	path := GoldenFile(s.file)
	g, err := readGolden(path)
	if err != nil && !o.Update {
		return res, err
	}
	bad := false
	for i := range s.Cases {
		c := &s.Cases[i]
		if o.Run != nil && !o.Run.MatchString(c.Name) {
			res.Skipped++
			continue
		}
		var r CaseResult
		r.Result, r.Err = h.Run(ctx, c)
		if err := ctx.Err(); err != nil {
			return res, err
		}
		if r.Err == nil && r.Passed() && !o.Update {
			if r.Golden, err = g.compare(&r.Result); err != nil {
				return res, err
			}
		}
		bad = bad || r.Err != nil || !r.Passed()
		res.Cases = append(res.Cases, r)
	}
	if o.Update && !bad && len(res.Cases) > 0 {
		if err := updateGolden(path, res.Cases, res.Skipped == 0); err != nil {
			return res, fmt.Errorf("the golden could not be written: %w", err)
		}
		res.Updated = true
		return res, nil
	}
	res.Left = g.leftovers(s)
	return res, nil
}
