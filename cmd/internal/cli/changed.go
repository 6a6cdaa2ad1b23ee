package cli

import (
	"fmt"

	"github.com/belay-hooks/belay/client/wire"
)

// callTrouble is something that is wrong with calls of the last day.
type callTrouble struct{ label, text, advice string }

// callTroubles says what is wrong with calls that have run.
func callTroubles(st *wire.Status) (out []callTrouble) {
	if st.Changed > 0 {
		out = append(out, callTrouble{"changed", plural(st.Changed, "call") +
			" of the last 24 hours ran otherwise than belay released, or although it refused", changedAdvice})
	}
	if st.Unasked > 0 {
		out = append(out, callTrouble{"not asked",
			plural(st.Unasked, "call") + " of the last 24 hours ran, and belay was never asked about it", unaskedAdvice})
	}
	if st.Undecided > 0 {
		out = append(out, callTrouble{"not decided", plural(st.Undecided, "time") +
			" in the last 24 hours the result of a released call did not come to belay", undecidedAdvice})
	}
	if n := st.Reconciled.Differ; n > 0 {
		out = append(out, callTrouble{"logs differ", plural(n, "session") +
			" of the last 7 days whose own log differs from belay's, " + plural(st.Reconciled.Found, "finding"),
			reconciledAdvice})
	}
	return out
}

// reconciledLine is the summary of a week's comparisons.
func reconciledLine(r *wire.Reconciled) string {
	text := plural(r.Sessions, "session") + " compared with belay's in the last 7 days, " + plural(r.Calls, "call")
	for _, part := range []struct {
		n    int
		what string
	}{{r.Agree, "agree"}, {r.Differ, "differ"}, {r.Unknown, "unknown in part"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

const reconciledAdvice = "`belay events query --type reconcile --decision differs --json` prints them. Calls without a verdict were made while hooks were off; a log that was rewritten hides what it said."

const changedAdvice = "`belay events query --type mismatch` prints them. Another hook of the runtime may rewrite calls after belay: look for it in the runtime's settings."

const unaskedAdvice = "`belay events query --type mismatch` prints them. The runtime's settings have lost belay's entry for the event before a call, or the session began before belay was connected."

const undecidedAdvice = "`belay events query --type mismatch` prints them. The model may have read these results as they were: something ended belay's hook, or the runtime's settings have lost its entry for the event after a call."
