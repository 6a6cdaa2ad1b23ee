package phases

import "slices"

// RewriteRule names one place of an action that hooks may rewrite.
type RewriteRule struct {
	Pointer  string
	Explicit bool // plain `rewrite` does not permit it: the grant must name the pointer
	Subset   bool // an array that may only lose entries
}

// Rules say what effects are legal in one phase. Whether a hook is granted them
// is another question: see Actor.
type Rules struct {
	Phase    Phase
	Rewrite  []RewriteRule // empty: nothing may be rewritten
	Redact   []string      // pointers below which values may be redacted
	Block    bool
	Ask      bool
	Reply    bool
	Retry    bool
	Clamp    bool
	Grant    bool
	Artifact bool
	Context  bool
	Annotate bool
	State    bool // state_get and state_put
	Calls    bool // request_tool_call and the lease calls
	HTTP     bool // http_request
}

// RulesFor returns the rules of a phase; nothing is legal in an unknown one.
// This table is what docs/ABI.md lists. The slices are the caller's.
func RulesFor(p Phase) Rules {
	rules := Rules{Phase: p}
	if !p.Valid() {
		return rules
	}
	if p == Audit { // the record is only masked further
		rules.Redact = []string{"/data"}
		return rules
	}
	rules.Block, rules.Context, rules.Annotate, rules.State, rules.HTTP = true, true, true, true, true
	switch p {
	case PrePlan:
		rules.Rewrite = []RewriteRule{{Pointer: "/text"}, {Pointer: "/constraints"}, {Pointer: "/stage"}}
		rules.Redact = []string{"/text", "/constraints", "/attachments", "/args"}
		rules.Ask, rules.Reply, rules.Artifact, rules.Calls = true, true, true, true
	case PreSend:
		rules.Rewrite = []RewriteRule{
			{Pointer: "/model", Explicit: true}, {Pointer: "/system"}, {Pointer: "/messages"},
			{Pointer: "/tools", Subset: true}, {Pointer: "/params"}, {Pointer: "/headers"},
		}
		rules.Redact = []string{"/system", "/messages", "/params", "/headers"}
		rules.Ask, rules.Reply = true, true
	case PostReceive:
		rules.Rewrite = []RewriteRule{{Pointer: "/text"}, {Pointer: "/messages"}}
		rules.Redact = []string{"/text", "/messages"}
		rules.Retry, rules.Artifact, rules.Calls = true, true, true
	case PreTool:
		rules.Rewrite = []RewriteRule{{Pointer: "/args"}}
		rules.Redact = []string{"/args"}
		rules.Ask, rules.Clamp, rules.Grant, rules.Calls = true, true, true, true
	case PostTool:
		rules.Rewrite = []RewriteRule{{Pointer: "/result"}}
		rules.Redact = []string{"/result", "/args", "/original_args"}
		rules.Artifact, rules.Calls = true, true
	case StateTransition:
		rules.Rewrite = []RewriteRule{{Pointer: "/data"}}
		rules.Redact = []string{"/data"}
		rules.Ask, rules.Clamp, rules.Artifact, rules.Calls = true, true, true, true
	case Spawn:
		rules.Rewrite = []RewriteRule{{Pointer: "/child/prompt"}, {Pointer: "/child/tools", Subset: true}}
		rules.Redact = []string{"/child/prompt"}
		rules.Ask, rules.Clamp, rules.Calls = true, true, true
	}
	return rules
}

// Legal reports whether the phase permits the kind of effect at all.
func (r Rules) Legal(k EffectKind) bool {
	switch k {
	case EffectBlock:
		return r.Block
	case EffectAsk:
		return r.Ask
	case EffectRewrite:
		return len(r.Rewrite) > 0
	case EffectRedact:
		return len(r.Redact) > 0
	case EffectClamp:
		return r.Clamp
	case EffectAnnotate:
		return r.Annotate
	case EffectContext:
		return r.Context
	case EffectRetry:
		return r.Retry
	case EffectReply:
		return r.Reply
	case EffectArtifact:
		return r.Artifact
	case EffectGrant:
		return r.Grant
	}
	return false
}

// rewriteRule returns the rule that permits a rewrite at ptr.
func (r Rules) rewriteRule(ptr string) (RewriteRule, bool) {
	for _, rule := range r.Rewrite {
		if Covers(rule.Pointer, ptr) {
			return rule, true
		}
	}
	return RewriteRule{}, false
}

func (r Rules) redactable(ptr string) bool {
	return slices.ContainsFunc(r.Redact, func(p string) bool { return Covers(p, ptr) })
}

// EffectKinds returns all kinds of effects, in the order of the ABI. The slice is the caller's.
func EffectKinds() []EffectKind {
	return []EffectKind{
		EffectBlock, EffectAsk, EffectRewrite, EffectRedact, EffectClamp, EffectAnnotate,
		EffectContext, EffectRetry, EffectReply, EffectArtifact, EffectGrant,
	}
}

// Capability returns the name of the capability, and of the hostcall, that asks for the effect.
func (k EffectKind) Capability() string {
	switch k {
	case EffectAsk:
		return "request_approval"
	case EffectClamp:
		return "clamp_scopes"
	case EffectContext:
		return "add_context"
	case EffectArtifact:
		return "put_artifact"
	}
	return string(k)
}
