package recording

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"sync"

	"github.com/belay-hooks/belay/phases"
)

// maxFigure bounds fuel, bytes and counts: more than any turn can have, and so little
// that a few of them can be added and compared.
const maxFigure = 1 << 50

var (
	// sources, kinds, passes, modes
	token  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`) })
	digest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9]+:[A-Za-z0-9]{1,128}\z`) })
)

// place is a fault of a value that decodes and means nothing. The pointer is into the
// member of the line.
type place struct{ pointer, text string }

func (p *place) String() string { return p.pointer + ": " + p.text }

// figures checks numbers, given as pointer and value in turn.
func figures(at string, list ...any) *place {
	for i := 0; i < len(list); i += 2 {
		var n int64
		switch v := list[i+1].(type) {
		case int64:
			n = v
		case int:
			n = int64(v)
		}
		if n < 0 || n > maxFigure {
			return &place{at + "/" + list[i].(string), fmt.Sprintf("%d is not between 0 and %d", n, int64(maxFigure))}
		}
	}
	return nil
}

// words checks that values which belay gives are one word; none is allowed.
func words(at string, list ...string) *place {
	for i := 0; i < len(list); i += 2 {
		if v := list[i+1]; v != "" && !token().MatchString(v) {
			return &place{at + "/" + list[i], fmt.Sprintf("%q is not one word", phases.SafeLine(v, 64))}
		}
	}
	return nil
}

func first(list ...*place) *place {
	for _, p := range list {
		if p != nil {
			return p
		}
	}
	return nil
}

func (h *Header) check() *place {
	return first(words("", "source", h.Source), figures("", "cost_table", h.CostTable))
}

func (c *Chain) check() *place {
	names := map[string]bool{}
	if p := figures("", "budget_ms", c.BudgetMS); p != nil {
		return p
	}
	for i := range c.Bindings {
		b := &c.Bindings[i]
		at := fmt.Sprintf("/bindings/%d", i)
		switch {
		case b.Name == "" || names[b.Name]:
			return &place{at + "/name", "a configuration with two hooks of one name, or one without"}
		case b.Digest != "" && !digest().MatchString(b.Digest):
			return &place{at + "/digest", "not a digest"}
		}
		names[b.Name] = true
		if p := first(words(at, "tier", string(b.Tier), "mode", string(b.Mode)),
			figures(at, "fuel", b.Fuel, "timeout_ms", b.TimeoutMS), b.Failure.check(at+"/failure")); p != nil {
			return p
		}
	}
	return nil
}

func (f *Fault) check(at string) *place {
	if f == nil {
		return nil
	}
	return words(at, "kind", string(f.Kind))
}

func (r *Run) check() *place {
	switch r.Chained.Decision {
	case phases.Allow, phases.Ask, phases.Block:
	default:
		return &place{"/chained/decision", "a run without a decision"}
	}
	if b, err := hex.DecodeString(r.Seed); err != nil || r.Seed != "" && len(b) != 32 {
		return &place{"/seed", "not 64 hexadecimal digits"}
	}
	if p := words("", "chained/kind", string(r.Chained.Kind), "final/kind", string(r.Final.Kind), "final/decision",
		string(r.Final.Decision)); p != nil {
		return p
	}
	if r.Latch != nil {
		if p := words("/latch", "kind", string(r.Latch.Kind), "cause", string(r.Latch.Cause)); p != nil {
			return p
		}
	}
	for i := range r.Turns {
		if p := r.Turns[i].check(fmt.Sprintf("/turns/%d", i)); p != nil {
			return p
		}
	}
	return nil
}

func (t *Turn) check(at string) *place {
	o := &t.Outcome
	if p := first(
		words(at, "pass", string(t.Pass), "report/decision", string(t.Report.Decision), "report/kind", string(t.Report.Kind)),
		figures(at, "budget", t.Budget, "outcome/fuel", o.Fuel, "outcome/memory_peak", o.MemoryPeak, "outcome/hostcalls",
			o.Hostcalls, "outcome/logs_dropped", o.LogsDropped),
		t.Fault.check(at+"/fault"),
	); p != nil {
		return p
	}
	for i := range t.Calls {
		c, at := &t.Calls[i], fmt.Sprintf("%s/calls/%d", at, i)
		if p := first(words(at, "call", c.Name, "fault", string(c.Fault)), figures(at, "fuel", c.Fuel)); p != nil {
			return p
		}
	}
	for i := range t.Answers {
		a, at := &t.Answers[i], fmt.Sprintf("%s/answers/%d", at, i)
		if p := first(words(at, "port", a.Port), figures(at, "fuel", a.Fuel, "keys", a.Keys, "bytes", a.Bytes)); p != nil {
			return p
		}
	}
	return nil
}

func (e *End) check() *place { return figures("", "dropped", e.Dropped) }
