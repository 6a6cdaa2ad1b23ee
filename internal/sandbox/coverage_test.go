package sandbox

import (
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// What covers and what does not come to the same effects, fuel, memory and failure.
func TestCoverageChangesNothing(t *testing.T) {
	const action = `{"tool":"exec","args":{"command":"rm -rf /","a":1}}`
	e := open(t, Options{})
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	ran := 0
	for _, f := range files {
		name := filepath.Base(f[:len(f)-len(".wasm")])
		file := guest(t, name)
		var reports []Report
		var ends []string
		for _, cover := range []bool{false, true} {
			m, err := e.Load(t.Context(), file, LoadOptions{Cover: cover})
			if err != nil {
				t.Fatal(err)
			}
			if (m.Coverage() != nil) != cover {
				t.Errorf("%s: coverage is %v", name, m.Coverage())
			}
			for _, p := range m.Info().Phases {
				rep, err := m.Run(t.Context(), RunRequest{Phase: p, Session: session(t, p, action), Fuel: 3 << 20, Timeout: -1})
				rep.Duration, rep.Waited, rep.Worked = 0, 0, 0
				end := ""
				if f := phases.FaultOf(err); f != nil {
					end = string(f.Kind)
				}
				reports, ends = append(reports, rep), append(ends, end)
			}
			if c := m.Coverage(); cover {
				hit := 0
				for _, h := range c.Hit {
					if h {
						hit++
					}
				}
				if hit == 0 || hit > len(c.Regions) {
					t.Errorf("%s: %d of %d regions", name, hit, len(c.Regions))
				}
			}
			m.Close()
		}
		n := len(reports) / 2
		for i := range n {
			if reports[i] != reports[n+i] || ends[i] != ends[n+i] {
				t.Errorf("%s, run %d: %+v %s, covered %+v %s", name, i, reports[i], ends[i], reports[n+i], ends[n+i])
			}
			ran++
		}
	}
	if ran < 10 {
		t.Errorf("only %d runs", ran)
	}
}
