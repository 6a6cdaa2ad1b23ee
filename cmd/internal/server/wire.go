package server

import (
	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/kernel"
)

// StatusOf is a status as it is answered; Daemon is for the daemon to fill in. Commands
// that open a state directory themselves print the same.
func StatusOf(st belay.Status) client.Status {
	out := client.Status{Dir: st.Dir, Store: st.Store, Revision: st.Revision, Engine: st.Engine, Compile: st.Compile, LastSeq: st.LastSeq, Gone: st.Gone, GoneBy: st.GoneBy, Healthy: st.Healthy, Health: string(st.Health),
		Problems: st.Problems, Warnings: st.Warnings, Sinks: []client.Sink{}, Latches: LatchesOf(st.Latches), Unheld: st.Unheld, LeftBehind: st.LeftBehind, Unsigned: client.UnsignedRevisions(st.Unsigned)}
	for _, k := range st.Sinks {
		out.Sinks = append(out.Sinks, client.Sink{Kind: k.Kind, Path: k.Path, Durable: k.Durable, OK: k.OK, Seq: k.Seq, Trouble: k.Trouble, Problem: k.Problem, Since: k.Since, Kept: k.Kept, Lost: k.Lost})
	}
	return out
}

// HooksOf are bindings as they are answered. It compiles only while both types have the
// same members.
func HooksOf(list []belay.BindingStatus) []client.Hook {
	out := []client.Hook{}
	for _, b := range list {
		out = append(out, client.Hook(b))
	}
	return out
}

// LatchesOf are latches as they are answered.
func LatchesOf(list []kernel.Latch) []client.Latch {
	out := []client.Latch{}
	for n := range list {
		l := &list[n]
		out = append(out, client.Latch{Runtime: l.Runtime, Session: l.Session, Reason: l.Reason, Kind: l.Kind, DecidedBy: l.DecidedBy, Invocation: l.Invocation, Since: l.Since,
			ID: l.ID, Cause: l.Why(), Event: l.Event, Scope: l.Scope(), Ends: l.Ends})
	}
	return out
}
