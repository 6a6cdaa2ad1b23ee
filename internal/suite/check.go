package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Check compares a verdict with the wanted one, and returns every difference.
func (w *Want) Check(v phases.Verdict) []Difference {
	c := checker{}
	if v.Decision != w.Decision {
		got := string(v.Decision)
		if v.Kind != "" {
			got += fmt.Sprintf(" (kind %s, reason %q)", v.Kind, v.Reason)
		}
		c.miss("decision", string(w.Decision), got)
	}
	if w.Kind != "" && v.Kind != w.Kind {
		c.miss("kind", string(w.Kind), fmt.Sprintf("%s (%s)", orNone(string(v.Kind)), v.Reason))
	}
	c.contains("reason_contains", v.Reason, w.ReasonContains)
	if w.Changed != nil {
		want := slices.Sorted(slices.Values(w.Changed))
		if !slices.Equal(v.Changed, want) {
			c.miss("changed", jsonOf(want), jsonOf(v.Changed))
		}
	}
	for _, ptr := range sortedKeys(w.Action) {
		got, ok := phases.Get(v.Action, ptr)
		if want := w.Action[ptr]; !ok || !phases.Same(got, want) {
			c.miss("action "+ptr, string(want), orNothing(got))
		}
	}
	for _, ptr := range w.Absent {
		if got, ok := phases.Get(v.Action, ptr); ok {
			c.miss("absent "+ptr, "nothing", string(got))
		}
	}
	for _, key := range sortedKeys(w.Metadata) {
		if got := v.Metadata[key].Value; !same(got, w.Metadata[key]) {
			c.miss("metadata "+key, string(w.Metadata[key]), orNothing(got))
		}
	}
	if w.Scopes != nil && !v.Scopes.Equal(*w.Scopes) {
		c.miss("scopes", jsonOf(*w.Scopes), jsonOf(v.Scopes))
	}
	w.checkLists(v, &c)
	if len(w.Verdict) > 0 {
		for _, m := range missing(w.Verdict, jsontext.Value(jsonOf(v)), "") {
			c.miss("verdict "+m.path, m.want, m.got)
		}
	}
	return c.out
}

type checker struct{ out []Difference }

func (c *checker) miss(what, want, got string) {
	c.out = append(c.out, Difference{What: what, Want: want, Got: got})
}

func (c *checker) contains(what, text, part string) {
	if !strings.Contains(text, part) {
		c.miss(what, fmt.Sprintf("%q in it", part), fmt.Sprintf("%q", text))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (w *Want) checkLists(v phases.Verdict, c *checker) {
	if w.Contexts != nil {
		ok := len(v.Contexts) == len(w.Contexts)
		for i := 0; ok && i < len(w.Contexts); i++ {
			ok = strings.Contains(v.Contexts[i], w.Contexts[i])
		}
		if !ok {
			c.miss("contexts", "texts with "+jsonOf(w.Contexts), jsonOf(v.Contexts))
		}
	}
	var effects []phases.Effect
	var fuel, memory int64
	for _, h := range v.Hooks {
		fuel += h.Fuel
		memory = max(memory, h.MemoryPeak)
		effects = append(effects, h.Effects...)
	}
	if w.Effects != nil {
		ok := len(effects) == len(w.Effects)
		for i := 0; ok && i < len(effects); i++ {
			ok = w.Effects[i].fits(&effects[i])
		}
		if !ok {
			c.miss("effects", jsonOf(w.Effects), effectsText(effects, w.Effects))
		}
	}
	if w.MaxFuel > 0 && fuel > w.MaxFuel {
		c.miss("max_fuel", fmt.Sprintf("at most %d", w.MaxFuel), fmt.Sprint(fuel))
	}
	if w.MaxMemory > 0 && memory > w.MaxMemory {
		c.miss("max_memory", fmt.Sprintf("at most %d bytes", w.MaxMemory), fmt.Sprint(memory))
	}
	if w.Reply != "" {
		text := ""
		if v.Reply != nil {
			text = v.Reply.Text
		}
		c.contains("reply_contains", text, w.Reply)
	}
	if w.Retry != "" {
		text := ""
		if v.Retry != nil {
			text = v.Retry.Instruction
		}
		c.contains("retry_contains", text, w.Retry)
	}
	if w.Artifacts != nil {
		var names []string
		for _, a := range v.Artifacts {
			names = append(names, a.Name)
		}
		if !slices.Equal(names, w.Artifacts) {
			c.miss("artifacts", jsonOf(w.Artifacts), jsonOf(names))
		}
	}
	for _, ptr := range w.Masked {
		if !slices.Contains(v.Masked, "/input/action"+ptr) {
			c.miss("masked", ptr, jsonOf(v.Masked))
		}
	}
}

// effectsText shows effects as they were asked for: by kind where that is enough.
func effectsText(effects []phases.Effect, want []WantEffect) string {
	if slices.ContainsFunc(want, func(w WantEffect) bool { return w.Rest != nil }) {
		return jsonOf(effects)
	}
	kinds := []phases.EffectKind{}
	for _, e := range effects {
		kinds = append(kinds, e.Kind)
	}
	return jsonOf(kinds)
}

func same(a, b jsontext.Value) bool {
	return len(a) > 0 && len(b) > 0 && phases.Same(a, b)
}
