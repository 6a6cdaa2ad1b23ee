package adapters

import (
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// Reason returns "belay (HOOK): text", or "belay: text" when no hook is named. Both come from
// hooks: they are cleaned and cut, and otherwise stands in for a text that is empty, because some
// runtimes take an answer with an empty reason for no answer.
func Reason(hook, text, otherwise string) string {
	hook = strings.TrimSpace(phases.SafeLine(hook, 128))
	if text = strings.TrimSpace(phases.SafeText(text, phases.MaxReasonBytes)); text == "" {
		text = otherwise
	}
	if hook == "" || hook == "belay" {
		return "belay: " + text
	}
	return "belay (" + hook + "): " + text
}

func blockReason(v *phases.Verdict) string {
	otherwise := "this is not allowed"
	if v.Kind != "" && v.Kind != phases.KindPolicy {
		otherwise += " (" + phases.SafeLine(string(v.Kind), 64) + ")"
	}
	return Reason(v.DecidedBy, v.Reason, otherwise)
}

func askReason(v *phases.Verdict) string {
	return Reason(v.DecidedBy, v.Reason, "a person has to confirm this")
}

func join(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return a + "; " + b
}
