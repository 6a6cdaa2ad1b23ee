package cli

import "github.com/belay-hooks/belay/client/wire"

// changedCalls says what is wrong with calls that have run; "" when nothing is.
func changedCalls(st *wire.Status) (changed, unasked string) {
	if st.Changed > 0 {
		changed = plural(st.Changed, "call") + " of the last 24 hours ran otherwise than belay released, or although it refused"
	}
	if st.Unasked > 0 {
		unasked = plural(st.Unasked, "call") + " of the last 24 hours ran, and belay was never asked about it"
	}
	return changed, unasked
}

const changedAdvice = "`belay events query --type mismatch` prints them. Another hook of the runtime may rewrite calls after belay: look for it in the runtime's settings."

const unaskedAdvice = "`belay events query --type mismatch` prints them. The runtime's settings have lost belay's entry for the event before a call, or the session began before belay was connected."
