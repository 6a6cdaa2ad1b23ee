package reconcile_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// object is a JSON object of a log.
type object = map[string]any

// callID returns the id of the call that the object makes, or "".
func callID(o object) string {
	id := ""
	switch o["type"] {
	case "tool_use", "toolCall":
		id, _ = o["id"].(string)
	case "function_call", "custom_tool_call":
		id, _ = o["call_id"].(string)
	case "tool":
		id, _ = o["callID"].(string)
	case nil:
		if _, ok := o["args"]; ok {
			id, _ = o["id"].(string)
		}
	}
	return id
}

// about reports whether the object tells of the call: makes it, or brings its result.
func about(o object, id string) bool {
	item, _ := o["item"].(object)
	response, _ := o["functionResponse"].(object)
	message, _ := o["message"].(object)
	return callID(o) == id || o["tool_use_id"] == id || o["call_id"] == id || item["id"] == id || response["id"] == id ||
		message["toolCallId"] == id
}

// walk replaces each object by what change makes of it, from the inside out; nil removes it.
func walk(v any, change func(object) object) any {
	switch v := v.(type) {
	case object:
		for name, member := range v {
			if v[name] = walk(member, change); v[name] == nil && member != nil {
				delete(v, name)
			}
		}
		if v = change(v); v == nil {
			return nil
		}
		return v
	case []any:
		out := []any{}
		for _, e := range v {
			if e = walk(e, change); e != nil {
				out = append(out, e)
			}
		}
		return out
	}
	return v
}

// editObjects changes the objects of a log.
func editObjects(t *testing.T, dir string, change func(object) object) {
	t.Helper()
	edit(t, dir, func(line string) []string {
		var v object
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		row, _ := v["row"].(object)
		column := "" // of a row, with JSON in it
		for _, name := range []string{"data", "event_json"} {
			if text, ok := row[name].(string); ok {
				var inner object
				if err := json.Unmarshal([]byte(text), &inner); err != nil {
					t.Fatal(err)
				}
				column, row[name] = name, inner
			}
		}
		whole := walk(v, change)
		if column != "" {
			if row[column] == nil {
				return nil
			}
			row[column] = shown(t, row[column])
		}
		if o, ok := whole.(object); !ok || o["type"] == "response_item" && o["payload"] == nil ||
			o["type"] == "event_msg" && o["payload"] == nil {
			return nil
		}
		return []string{shown(t, whole)}
	})
}

// alter changes the arguments of a call, in a part that no event has redacted.
func alter(o object) {
	switch {
	case o["type"] == "custom_tool_call":
		o["input"] = o["input"].(string) + "x"
	case o["type"] == "function_call":
		args := object{}
		_ = json.Unmarshal([]byte(o["arguments"].(string)), &args)
		if cmd, ok := args["cmd"].(string); ok {
			args["cmd"] = "x; " + cmd
		} else {
			args["altered"] = "x"
		}
		b, _ := json.Marshal(args)
		o["arguments"] = string(b)
	default:
		if state, ok := o["state"].(object); ok {
			o = state
		}
		for _, name := range []string{"input", "args", "arguments"} {
			if args, ok := o[name].(object); ok {
				args["altered"] = "x"
			}
		}
	}
}

// calls returns the ids of all calls that the log makes.
func calls(t *testing.T, dir string) (ids []string) {
	t.Helper()
	editObjects(t, dir, func(o object) object {
		if id := callID(o); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return o
	})
	return ids
}

// decided is a call with its verdict.
type decided struct {
	call    string // "" where events have no id
	event   int    // index
	blocked bool
}

func (r recorded) decided(t *testing.T, m *memory) (out []decided) {
	t.Helper()
	for i := range m.list {
		e := &m.list[i]
		event, _ := phases.GetString(e.Input, "/metadata/event")
		id, _ := phases.GetString(e.Input, "/action/call_id")
		if e.Type != phases.EventVerdict || !strings.HasSuffix(r.log, e.Session+".jsonl") && r.runtime == "codex" ||
			event != map[string]string{"claude-code": "PreToolUse", "codex": "PreToolUse", "gemini-cli": "BeforeTool",
				"opencode": "tool.execute.before", "openclaw": "before_tool_call"}[r.runtime] {
			continue
		}
		out = append(out, decided{id, i, e.Decision == "block"})
	}
	return out
}

func count(r *wire.Reconciliation) map[wire.FindingKind]int {
	out := map[wire.FindingKind]int{}
	for _, f := range r.List {
		out[f.Kind]++
	}
	return out
}

func found(r *wire.Reconciliation, k wire.FindingKind) (ids []string) {
	for _, f := range r.List {
		if f.Kind == k {
			ids = append(ids, f.Call)
		}
	}
	slices.Sort(ids)
	return ids
}

// subset picks some of the numbers below n, at least one.
func subset(rng *rand.Rand, n int) []int {
	list := rng.Perm(n)[:1+rng.IntN(n)]
	slices.Sort(list)
	return list
}

const rounds = 20

// Any verdicts that are removed are exactly those that are missed, where the call ran.
func TestAnyVerdictsRemoved(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range runs() {
		m := r.events(t)
		all := r.decided(t, m)
		dir := r.copied(t)
		for range rounds {
			if len(all) == 0 {
				break
			}
			var want []string
			gone := map[int]bool{}
			for _, i := range subset(rng, len(all)) {
				gone[all[i].event] = true
				// of a call that failed OpenCode's log does not say whether it ran: it is unknown
				if !all[i].blocked && (r.runtime != "opencode" || all[i].call != "toolu_008_0") {
					want = append(want, all[i].call)
				}
			}
			left := &memory{}
			for i, e := range m.list {
				if !gone[i] {
					left.list = append(left.list, e)
				}
			}
			got := r.compare(t, left, dir)
			off := r.off
			if len(found(&got, wire.FindingUnasked)) != len(want)+off || got.Found != len(want)+off {
				t.Fatalf("%s: removed the verdicts of %v: %s", r.name, want, shown(t, got))
			}
			slices.Sort(want)
			if ids := found(&got, wire.FindingUnasked); want != nil && want[0] != "" && off == 0 && !slices.Equal(ids, want) {
				t.Fatalf("%s: removed the verdicts of %v, found %v", r.name, want, ids)
			}
		}
	}
}

// Any calls that are removed from the log are exactly those that are missed there.
func TestAnyCallsRemoved(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, r := range runs() {
		m := r.events(t)
		ids := r.logged(t, m)
		for range rounds {
			if len(ids) == 0 {
				break
			}
			dir := r.copied(t)
			var want []string
			for _, i := range subset(rng, len(ids)) {
				want = append(want, ids[i])
			}
			editObjects(t, dir, func(o object) object {
				if slices.ContainsFunc(want, func(id string) bool { return about(o, id) }) {
					return nil
				}
				return o
			})
			got := r.compare(t, m, dir)
			slices.Sort(want)
			missed := found(&got, wire.FindingUncalled)
			if len(missed) != len(want) || got.Found != len(want)+r.off ||
				r.runtime != "gemini-cli" && !slices.Equal(missed, want) {
				t.Fatalf("%s: removed %v: %s", r.name, want, shown(t, got))
			}
		}
	}
}

// logged returns the ids of the calls in the log that have a verdict.
func (r recorded) logged(t *testing.T, m *memory) (out []string) {
	t.Helper()
	ids, n := calls(t, r.copied(t)), 0
	for _, d := range r.decided(t, m) {
		if d.call == "" || slices.Contains(ids, d.call) {
			n++
		}
	}
	if r.runtime != "gemini-cli" {
		return slices.DeleteFunc(ids, func(id string) bool {
			return !slices.ContainsFunc(r.decided(t, m), func(d decided) bool { return d.call == id })
		})
	}
	// Its events have no ids: these are the calls that were refused before a hook was asked.
	return slices.DeleteFunc(ids, func(id string) bool {
		return strings.HasPrefix(id, "no_such") || strings.HasSuffix(id, "7471378_0")
	})
}

// Any calls whose arguments are altered are exactly those that differ.
func TestAnyCallsAltered(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, r := range runs() {
		m := r.events(t)
		ids := r.logged(t, m)
		for range rounds {
			if len(ids) == 0 {
				break
			}
			dir := r.copied(t)
			var want []string
			for _, i := range subset(rng, len(ids)) {
				want = append(want, ids[i])
			}
			editObjects(t, dir, func(o object) object {
				if slices.Contains(want, callID(o)) {
					alter(o)
				}
				return o
			})
			got := r.compare(t, m, dir)
			if r.runtime == "gemini-cli" { // without ids it is one call more, and one verdict
				n := count(&got)
				if n[wire.FindingUncalled] != len(want) || n[wire.FindingUnasked] > len(want) ||
					n[wire.FindingUnasked] < len(want)-1 {
					t.Fatalf("%s: altered %v: %s", r.name, want, shown(t, got))
				}
				continue
			}
			slices.Sort(want)
			if !slices.Equal(found(&got, wire.FindingChanged), want) || got.Found != len(want)+r.off {
				t.Fatalf("%s: altered %v: %s", r.name, want, shown(t, got))
			}
		}
	}
}
