package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Check compares a verdict with what is wanted and returns one sentence for
// each difference.
func (w *Want) Check(v phases.Verdict) []string {
	var bad []string
	miss := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }

	if v.Decision != w.Decision {
		miss("decision is %s, want %s (kind %s, reason %q)", v.Decision, w.Decision, v.Kind, v.Reason)
	}
	if w.Kind != "" && v.Kind != w.Kind {
		miss("kind is %s, want %s", v.Kind, w.Kind)
	}
	if !strings.Contains(v.Reason, w.ReasonContains) {
		miss("reason %q does not contain %q", v.Reason, w.ReasonContains)
	}
	if w.Changed != nil {
		want := slices.Sorted(slices.Values(w.Changed))
		if !slices.Equal(v.Changed, want) {
			miss("changed is %q, want %q", v.Changed, want)
		}
	}
	for ptr, want := range w.Action {
		got, ok := phases.Get(v.Action, ptr)
		if !ok {
			miss("the action has nothing at %s, want %s", ptr, want)
		} else if !phases.Same(got, want) {
			miss("the action has %s at %s, want %s", got, ptr, want)
		}
	}
	for _, ptr := range w.Absent {
		if got, ok := phases.Get(v.Action, ptr); ok {
			miss("the action has %s at %s, want nothing", got, ptr)
		}
	}
	for key, want := range w.Metadata {
		if got := v.Metadata[key].Value; !same(got, want) {
			miss("metadata %s is %s, want %s", key, got, want)
		}
	}
	if w.Scopes != nil && !v.Scopes.Equal(*w.Scopes) {
		miss("scopes are %s, want %s", jsonOf(v.Scopes), jsonOf(*w.Scopes))
	}
	w.checkLists(v, miss)
	return bad
}

func (w *Want) checkLists(v phases.Verdict, miss func(string, ...any)) {
	if w.Contexts != nil {
		ok := len(v.Contexts) == len(w.Contexts)
		for i := 0; ok && i < len(w.Contexts); i++ {
			ok = strings.Contains(v.Contexts[i], w.Contexts[i])
		}
		if !ok {
			miss("contexts are %q, want texts that contain %q", v.Contexts, w.Contexts)
		}
	}
	var kinds []phases.EffectKind
	var fuel int64
	for _, h := range v.Hooks {
		fuel += h.Fuel
		for _, e := range h.Effects {
			kinds = append(kinds, e.Kind)
		}
	}
	if w.Effects != nil && !slices.Equal(kinds, w.Effects) {
		miss("effects are %v, want %v", kinds, w.Effects)
	}
	if w.MaxFuel > 0 && fuel > w.MaxFuel {
		miss("%d fuel was used, at most %d is wanted", fuel, w.MaxFuel)
	}
	if w.Reply != "" && (v.Reply == nil || !strings.Contains(v.Reply.Text, w.Reply)) {
		miss("reply is %s, want one that contains %q", jsonOf(v.Reply), w.Reply)
	}
	if w.Retry != "" && (v.Retry == nil || !strings.Contains(v.Retry.Instruction, w.Retry)) {
		miss("retry is %s, want one that contains %q", jsonOf(v.Retry), w.Retry)
	}
	if w.Artifacts != nil {
		var names []string
		for _, a := range v.Artifacts {
			names = append(names, a.Name)
		}
		if !slices.Equal(names, w.Artifacts) {
			miss("artifacts are %q, want %q", names, w.Artifacts)
		}
	}
	for _, ptr := range w.Masked {
		if !slices.Contains(v.Masked, "/input/action"+ptr) {
			miss("%s is not among the masked %q", ptr, v.Masked)
		}
	}
}

func same(a, b jsontext.Value) bool {
	return len(a) > 0 && len(b) > 0 && phases.Same(a, b)
}
