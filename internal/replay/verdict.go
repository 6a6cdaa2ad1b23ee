package replay

import (
	"cmp"
	"strings"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// compareVerdicts adds the differences of two verdicts. exact also compares members that a
// caller does not act upon: reasons, notes, who decided.
func compareVerdicts(res *Result, want, got *recording.Verdict, exact bool) {
	if want.Decision != got.Decision {
		res.differ(WhatDecision, "decision", decisionText(want), decisionText(got))
	} else if want.Decision == phases.Block && want.Kind != got.Kind {
		res.differ(WhatVerdict, "kind", string(want.Kind), string(got.Kind))
	}
	both := want.Decision != phases.Block && got.Decision != phases.Block // a caller acts upon no other member of a block
	if (both || exact) && !sameJSON(want.Action, got.Action) {
		res.differ(WhatRewrite, strings.Join(changedAt(want, got), " "), string(want.Action), string(got.Action))
	}
	member := func(name string, w, g any, none bool) {
		if none {
			return
		}
		if a, b := jsonOf(w), jsonOf(g); a != b {
			res.differ(WhatVerdict, name, a, b)
		}
	}
	if both || exact {
		member("scopes", want.Scopes, got.Scopes, want.Scopes.Equal(got.Scopes))
		member("contexts", want.Contexts, got.Contexts, len(want.Contexts)+len(got.Contexts) == 0)
		member("reply", want.Reply, got.Reply, want.Reply == nil && got.Reply == nil)
		member("retry", want.Retry, got.Retry, want.Retry == nil && got.Retry == nil)
		member("artifacts", want.Artifacts, got.Artifacts, len(want.Artifacts)+len(got.Artifacts) == 0)
		member("grant", want.Grant, got.Grant, want.Grant == nil && got.Grant == nil)
	}
	member("metadata", want.Metadata, got.Metadata, len(want.Metadata)+len(got.Metadata) == 0)
	if !exact {
		return
	}
	if want.Reason != got.Reason && !phases.IsRefusal(want.Reason, got.Reason) {
		res.differ(WhatVerdict, "reason", want.Reason, got.Reason)
	}
	if want.DecidedBy != got.DecidedBy {
		res.differ(WhatVerdict, "decided_by", want.DecidedBy, got.DecidedBy)
	}
	member("changed", want.Changed, got.Changed, len(want.Changed)+len(got.Changed) == 0)
	member("notes", want.Notes, got.Notes, len(want.Notes)+len(got.Notes) == 0)
}

func decisionText(v *recording.Verdict) string {
	s := string(v.Decision)
	if by := cmp.Or(v.DecidedBy, ""); by != "" {
		s += " by " + by
	}
	if v.Reason != "" {
		s += ": " + v.Reason
	}
	return s
}

func sameJSON(a, b jsonValue) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return phases.Same(a, b)
}

func changedAt(a, b *recording.Verdict) []string {
	if len(a.Action) == 0 || len(b.Action) == 0 {
		return []string{"/"}
	}
	return phases.Diff(a.Action, b.Action)
}
