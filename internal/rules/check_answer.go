package rules

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func (f *File) checkAnswer(r *Rule) error {
	at := r.at + "/" + r.answer.String()
	legal := func(kind phases.EffectKind) error {
		for _, p := range r.phases {
			if !phases.RulesFor(p).Legal(kind) {
				return f.doc.Errorf(at, "is not possible in %s", p)
			}
		}
		return nil
	}
	otherwise := func(a, reason string) error {
		if err := f.checkReason(r, at+"/reason", reason); err != nil {
			return err
		}
		switch a {
		case "", "block":
			return nil
		case "ask":
			return legal(phases.EffectAsk)
		}
		return f.doc.Errorf(at+"/answer", "must be block or ask")
	}
	switch r.answer {
	case answerBlock, answerAsk:
		if err := f.checkReason(r, at, r.Block+r.Ask); err != nil {
			return err
		}
		if r.answer == answerAsk {
			return legal(phases.EffectAsk)
		}
	case answerAnnotate:
		if len(r.Annotate) == 0 {
			return f.doc.Errorf(at, "names no key")
		}
		for key := range r.Annotate {
			if !metaKey().MatchString(key) || key == "caller" || key == "stage" {
				return f.doc.Errorf(phases.Join(at, key), "is no key that a rule can write")
			}
		}
		return legal(phases.EffectAnnotate)
	case answerLimit:
		l := r.Limit
		if _, err := l.parse(); err != nil {
			return f.doc.Errorf(at, "%v", err)
		}
		return otherwise(l.Answer, l.Reason)
	case answerLease:
		if err := leases.CheckCapability(r.RequireLease.Capability); err != nil {
			return f.doc.Errorf(at+"/capability", "%v", err)
		}
		for _, p := range r.phases {
			if !phases.RulesFor(p).Calls {
				return f.doc.Errorf(at, "is not possible in %s: leases are not checked there", p)
			}
		}
		return otherwise(r.RequireLease.Answer, r.RequireLease.Reason)
	case answerStage:
		if len(r.RequireStage.Stage) == 0 {
			return f.doc.Errorf(at+"/stage", "names no stage")
		}
		if err := f.checkList(at+"/stage", r.RequireStage.Stage); err != nil {
			return err
		}
		return otherwise(r.RequireStage.Answer, r.RequireStage.Reason)
	case answerRedact:
		return f.checkRedact(r, at)
	case answerDefault, answerFix:
		return f.checkRewrites(r, at)
	case answerScopes:
		s := r.Scopes
		if s.FSRead == nil && s.FSWrite == nil && s.Net == nil && s.Tools == nil {
			return f.doc.Errorf(at, "narrows nothing: name fs_read, fs_write, net or tools")
		}
		if err := s.Validate(); err != nil {
			return f.doc.Errorf(at, "%v", err)
		}
		return legal(phases.EffectClamp)
	}
	return nil
}

func (f *File) checkRedact(r *Rule, at string) error {
	if len(r.Redact.Match) == 0 {
		return f.doc.Errorf(at, "needs match: RE2 patterns")
	}
	if err := f.checkPatterns(at+"/match", r.Redact.Match); err != nil {
		return err
	}
	if err := f.checkPointers(at+"/at", r.Redact.At); err != nil {
		return err
	}
	if len(r.Redact.Label) > 64 {
		return f.doc.Errorf(at+"/label", "longer than 64 bytes")
	}
	if r.Redact.With != nil && (r.Redact.Label != "" || len(*r.Redact.With) > maxText) {
		return f.doc.Errorf(at+"/with", "stands in place of label, and has at most %d bytes", maxText)
	}
	for _, p := range r.phases {
		for _, ptr := range r.Redact.where(p) {
			if !rewritable(p, ptr) {
				return f.doc.Errorf(at, "%s cannot be rewritten in %s", ptr, p)
			}
		}
	}
	return nil
}

func (f *File) checkRewrites(r *Rule, at string) error {
	values := r.rewrites()
	if len(values) == 0 {
		return f.doc.Errorf(at, "names no argument: write JSON Pointers, such as /args/timeout: 60")
	}
	pointers := slices.Sorted(maps.Keys(values))
	for i, ptr := range pointers {
		if !pointer(ptr) {
			return f.doc.Errorf(phases.Join(at, ptr), "%q must be a JSON Pointer, such as /args/timeout", ptr)
		}
		for _, p := range r.phases {
			if !rewritable(p, ptr) {
				return f.doc.Errorf(phases.Join(at, ptr), "%s cannot be rewritten in %s", ptr, p)
			}
		}
		if i > 0 && phases.Covers(pointers[i-1], ptr) {
			return f.doc.Errorf(phases.Join(at, ptr), "lies in %s, which the rule sets, too", pointers[i-1])
		}
	}
	return nil
}

func (r *Rule) rewrites() map[string]jsontext.Value {
	if r.answer == answerFix {
		return r.Fix
	}
	return r.Default
}

// rewritable reports whether plain rewrite permits a place that may hold anything.
func rewritable(p phases.Phase, ptr string) bool {
	return slices.ContainsFunc(phases.RulesFor(p).Rewrite, func(rule phases.RewriteRule) bool {
		return !rule.Explicit && !rule.Subset && rule.Pointer != "/headers" && phases.Covers(rule.Pointer, ptr)
	})
}
