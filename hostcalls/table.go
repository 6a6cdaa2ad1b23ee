package hostcalls

import (
	"slices"
	"sync"

	"github.com/belay-hooks/belay/phases"
)

// Table returns every call of guest ABI version 1, in the order of the ABI
// document. The slice and everything in it are the caller's.
//
// Costs are in fuel, where 1 is about one plain instruction of a guest: they
// follow measured host time (about 1 ns of it per unit) and are part of the
// contract, since the same turn must cost the same everywhere.
func Table() []Call {
	rows := freeCalls()
	rows = append(rows, effectCalls()...)
	rows = append(rows, analysisCalls()...)
	return append(rows, callCalls()...)
}

// Lookup returns the row with the name. The row and everything in it are the caller's.
func Lookup(name string) (Call, bool) {
	c, ok := byName()[name]
	c.Params, c.Phases = slices.Clone(c.Params), slices.Clone(c.Phases)
	return c, ok
}

var byName = sync.OnceValue(func() map[string]Call {
	rows := map[string]Call{}
	for _, c := range Table() {
		rows[c.Name] = c
	}
	return rows
})

func in(n int) []Param {
	p := make([]Param, n)
	for i := range p {
		p[i] = ParamIn
	}
	return p
}

func freeCalls() []Call {
	read := Cost{Base: 500, PerOut: 1}
	look := Cost{Base: 500, PerIn: 1, PerOut: 1}
	path := [2]int{MaxPath}
	get := []Param{ParamIn, ParamOut}
	rows := []Call{
		{Name: "input_read", Params: []Param{ParamOut}, Cost: read, Handle: inputRead,
			Doc: "the whole input document; answers its length"},
		{Name: "input_get", Params: get, Cost: look, MaxIn: path, Handle: inputGet,
			Doc: "the value at a JSON Pointer: a string without quotes and escapes, anything else as its source bytes; answers its length"},
		{Name: "input_kind", Params: in(1), Cost: look, MaxIn: path, Handle: inputKind,
			Doc: "0 null, 1 bool, 2 number, 3 string, 4 array, 5 object"},
		{Name: "input_keys", Params: in(1), Cost: look, MaxIn: path, Replies: true, Handle: inputKeys,
			Doc: "replies the member names of an object as a JSON array, or the length of an array as a JSON number"},
		{Name: "config_read", Params: []Param{ParamOut}, Cost: read, Handle: configRead,
			Doc: "the binding's configuration"},
		{Name: "config_get", Params: get, Cost: look, MaxIn: path, Handle: configGet,
			Doc: "as input_get, in the configuration"},
		{Name: "config_kind", Params: in(1), Cost: look, MaxIn: path, Handle: configKind,
			Doc: "as input_kind, in the configuration"},
		{Name: "config_keys", Params: in(1), Cost: look, MaxIn: path, Replies: true, Handle: configKeys,
			Doc: "as input_keys, in the configuration"},
		{Name: "reply_read", Params: []Param{ParamOut}, Cost: read, Handle: replyRead,
			Doc: "the reply of the last call that answered one"},
		{Name: "log", Params: []Param{ParamI32, ParamIn}, Cost: Cost{Base: 500, PerIn: 1}, MaxIn: [2]int{MaxLogText},
			Cuts: true, InInit: true, Handle: logCall,
			Doc: "a line for the operator: 0 debug, 1 info, 2 warn, 3 error; 64 lines of 8 KiB, the rest is dropped and counted"},
		{Name: "fail", Params: in(1), Cost: Cost{Base: 500, PerIn: 1}, MaxIn: [2]int{MaxFail},
			Cuts: true, InInit: true, Handle: failCall,
			Doc: "says why the hook is about to fail; the last text wins"},
	}
	for i := range rows {
		rows[i].Group, rows[i].LeastTier = GroupFree, phases.Proposed
	}
	return rows
}

func effectCalls() []Call {
	cost := Cost{Base: 1000, PerIn: 2}
	whole := [2]int{MaxEffect}
	rows := []Call{
		{Name: "block", Params: in(1), MaxIn: [2]int{MaxReason}, Cuts: true, Handle: effectBlock,
			Doc: "stops the action; the first reason stays"},
		{Name: "request_approval", Params: in(1), MaxIn: whole, Handle: effectAsk,
			Doc: `asks a person: {"reason": text, "ttl_s"?: seconds, "details"?: object}`},
		{Name: "rewrite", Params: []Param{ParamIn, ParamIn, ParamI32}, MaxIn: [2]int{MaxPath, MaxEffect},
			Handle: effectRewrite,
			Doc:    "replaces, adds (kind 0 JSON, 1 text) or removes (kind 2) the value at a JSON Pointer"},
		{Name: "redact", Params: in(2), MaxIn: [2]int{MaxPath, MaxLabel}, Handle: effectRedact,
			Doc: "replaces the value at a JSON Pointer by a labelled placeholder, in the action and in the record"},
		{Name: "clamp_scopes", Params: in(1), MaxIn: whole, Handle: effectClamp,
			Doc: `narrows what the action may touch: {"fs_read"?, "fs_write"?, "net"?, "tools"?: array of patterns}`},
		{Name: "annotate", Params: in(2), MaxIn: [2]int{MaxPath, MaxEffect}, Handle: effectAnnotate,
			Doc: "puts a JSON value into the run's metadata, for later hooks and phases"},
		{Name: "add_context", Params: in(1), MaxIn: [2]int{MaxContext}, Handle: effectContext,
			Doc: "text for the agent, labelled with the hook's name; at most 4 KiB"},
		{Name: "retry", Params: in(1), MaxIn: whole, Handle: effectRetry,
			Doc: `sends the agent on: {"instruction": text, "max": 1 to 10 times in a run}`},
		{Name: "reply", Params: in(1), MaxIn: whole, Handle: effectReply,
			Doc: `answers instead of the model: {"text": text}`},
		{Name: "put_artifact", Params: in(1), MaxIn: whole, Handle: effectArtifact,
			Doc: `leaves a document beside the verdict: {"name", "media_type", "text" or "data_base64", "meta"?: object}`},
		{Name: "grant", Params: in(1), LeastTier: phases.Trusted, MaxIn: [2]int{MaxReason}, Handle: effectGrant,
			Doc: "spares the agent its own permission prompt"},
	}
	for i := range rows {
		rows[i].Group, rows[i].Cost = GroupEffects, cost
		rows[i].Phases = legal(func(r phases.Rules) bool { return r.Legal(effectKind(rows[i].Name)) })
	}
	return gated(rows)
}

func analysisCalls() []Call {
	rows := []Call{
		{Name: "shell_parse", Cost: Cost{Base: 20_000, PerIn: 200}, MaxIn: [2]int{MaxShell}, Handle: shellParse,
			Doc: "replies every command that a shell text would run, with resolved words, and what is not known (see ShellReply)"},
		{Name: "path_resolve", Cost: Cost{Base: 5_000, PerIn: 20}, MaxIn: [2]int{MaxRequest}, Handle: pathResolve,
			Waits: true,
			Doc:   "replies the cleaned, case-folded and symlink-resolved forms of paths (see PathReply)"},
		{Name: "pattern_match", Cost: Cost{Base: 5_000, PerIn: 20}, MaxIn: [2]int{MaxRequest}, Handle: patternMatch,
			Doc: "replies which patterns, RE2 or glob, match which texts (see PatternReply)"},
		{Name: "find_secrets", Cost: Cost{Base: 5_000, PerIn: 100}, MaxIn: [2]int{MaxScan}, Handle: findSecrets,
			Doc: "replies kinds and places of secrets in a text (see SecretsReply)"},
	}
	for i := range rows {
		rows[i].Group, rows[i].Params, rows[i].Replies = GroupAnalysis, in(1), true
	}
	return gated(rows)
}

func callCalls() []Call {
	act := legal(func(r phases.Rules) bool { return r.Calls })
	http := legal(func(r phases.Rules) bool { return r.HTTP })
	state := legal(func(r phases.Rules) bool { return r.State })
	big := Cost{Base: 100_000, PerIn: 5}
	whole := [2]int{MaxEffect}
	rows := []Call{
		{Name: "request_tool_call", Params: in(1), Phases: act, Cost: big, MaxIn: whole, Counted: true, Replies: true,
			Handle: toolCall,
			Doc:    "runs another tool through its own chain of hooks and replies its result"},
		{Name: "request_lease", Params: in(1), Phases: act, Cost: big, MaxIn: whole, Counted: true, Replies: true,
			Handle: leaseRequest,
			Doc:    "asks for a lease on behalf of the agent"},
		{Name: "check_lease", Params: in(1), Phases: act, Cost: big, MaxIn: whole, Counted: true, Replies: true,
			Handle: leaseCheck,
			Doc:    "replies whether a lease covers a use"},
		{Name: "mint_lease", Params: in(1), LeastTier: phases.Trusted, Phases: act, Cost: big, MaxIn: whole, Counted: true,
			Replies: true, Handle: leaseMint,
			Doc: "makes a lease"},
		{Name: "revoke_lease", Params: in(1), LeastTier: phases.Trusted, Phases: act, Cost: big, MaxIn: whole, Counted: true,
			Replies: true, Handle: leaseRevoke,
			Doc: "revokes leases by id or prefix"},
		{Name: "http_request", Params: in(1), LeastTier: phases.Trusted, Phases: http, Cost: big, MaxIn: whole, Counted: true,
			Replies: true, Handle: httpRequest,
			Doc: "sends a request to an allowed host and replies its answer"},
		{Name: "state_get", Params: []Param{ParamIn, ParamOut}, Phases: state, Cost: Cost{Base: 5_000, PerIn: 1, PerOut: 1},
			MaxIn: [2]int{MaxStateKey}, Handle: stateGet,
			Doc: "the bytes that this hook keeps under a key, its own writes of this turn included; answers their length; 64 different keys a turn"},
		{Name: "state_put", Params: in(2), Phases: state, Cost: Cost{Base: 5_000, PerIn: 2},
			MaxIn: [2]int{MaxStateKey, MaxStateVal}, Counted: true, Handle: statePut,
			Doc: "keeps bytes under a key, once the verdict is logged; empty bytes remove the key"},
		{Name: "time_now", Result: ResultI64, Cost: Cost{Base: 100}, Handle: timeNow,
			Doc: "the invocation's time in unix nanoseconds"},
		{Name: "random", Params: []Param{ParamFill}, Cost: Cost{Base: 500, PerOut: 2}, Handle: randomCall,
			Doc: "bytes of the invocation's recorded stream; at most 4096"},
	}
	for i := range rows {
		rows[i].Group, rows[i].Waits = GroupCalls, true
	}
	return gated(rows)
}

// gated fills in what follows from the name: one capability for each call.
func gated(rows []Call) []Call {
	for i := range rows {
		rows[i].Capability = rows[i].Name
		if rows[i].LeastTier == "" {
			rows[i].LeastTier = phases.Proposed
		}
	}
	return rows
}

// legal returns the phases whose rules permit something.
func legal(permits func(phases.Rules) bool) []phases.Phase {
	var out []phases.Phase
	for _, p := range phases.Phases() {
		if permits(phases.RulesFor(p)) {
			out = append(out, p)
		}
	}
	return out
}

// effectKind returns the kind of effect that the call of the name asks for.
func effectKind(name string) phases.EffectKind {
	for _, k := range phases.EffectKinds() {
		if k.Capability() == name {
			return k
		}
	}
	return ""
}
