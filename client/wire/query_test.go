package wire_test

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

func TestQueryLimits(t *testing.T) {
	for limit, want := range map[int]int{
		-1: wire.DefaultLimit, 0: wire.DefaultLimit, 1: 1, wire.MaxLimit: wire.MaxLimit, wire.MaxLimit + 1: wire.MaxLimit,
	} {
		if got := (&wire.Query{Limit: limit}).EffectiveLimit(); got != want {
			t.Errorf("limit %d: %d, want %d", limit, got, want)
		}
	}
	if wire.DefaultLimit != 100 || wire.MaxLimit != 10_000 {
		t.Error("the limits are not those of the docs")
	}
}

// Each member of a query selects by itself.
func TestQueryMatches(t *testing.T) {
	at := time.Unix(1000, 0)
	e := phases.Event{
		Seq: 7, ID: "id", Type: phases.EventNotice, Time: at, Phase: phases.PreTool, Runtime: "r", Session: "s", Agent: "a",
		Tool:       "t",
		Invocation: "i", Binding: "b", Decision: "d", Kind: phases.KindPolicy,
	}
	for name, c := range map[string]struct{ selects, not wire.Query }{
		"after":      {wire.Query{After: 6}, wire.Query{After: 7}},
		"before":     {wire.Query{Before: 8}, wire.Query{Before: 7}},
		"since":      {wire.Query{Since: at}, wire.Query{Since: at.Add(1)}},
		"until":      {wire.Query{Until: at.Add(1)}, wire.Query{Until: at}},
		"id":         {wire.Query{ID: "id"}, wire.Query{ID: "x"}},
		"type":       {wire.Query{Type: phases.EventNotice}, wire.Query{Type: phases.EventGap}},
		"except":     {wire.Query{Except: phases.EventGap}, wire.Query{Except: phases.EventNotice}},
		"phase":      {wire.Query{Phase: phases.PreTool}, wire.Query{Phase: phases.PostTool}},
		"runtime":    {wire.Query{Runtime: "r"}, wire.Query{Runtime: "x"}},
		"session":    {wire.Query{Session: "s"}, wire.Query{Session: "x"}},
		"agent":      {wire.Query{Agent: "a"}, wire.Query{Agent: "x"}},
		"tool":       {wire.Query{Tool: "t"}, wire.Query{Tool: "x"}},
		"invocation": {wire.Query{Invocation: "i"}, wire.Query{Invocation: "x"}},
		"binding":    {wire.Query{Binding: "b"}, wire.Query{Binding: "x"}},
		"decision":   {wire.Query{Decision: "d"}, wire.Query{Decision: "x"}},
		"kind":       {wire.Query{Kind: phases.KindPolicy}, wire.Query{Kind: phases.KindStore}},
	} {
		if !c.selects.Match(&e) || c.not.Match(&e) {
			t.Errorf("%s: %v, %v, want true, false", name, c.selects.Match(&e), c.not.Match(&e))
		}
	}
	if all := (wire.Query{}); !all.Match(&e) {
		t.Error("a query that names nothing selects everything")
	}
}
