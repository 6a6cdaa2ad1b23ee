package kernel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Who came to the daemon is an event. Its reason and names are redacted, and safe for a terminal.
func TestAccessIsLogged(t *testing.T) {
	h := newHost(t, nil)
	err := h.NoteAccess(t.Context(), kernel.Access{Decision: wire.AccessRefused, User: "mallet\n",
		Reason: "no user \x1b[31m of this machine", Session: "s", Runtime: "custom",
		Facts: wire.Access{Code: "not_allowed", UID: 1503, Count: 7}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.Events(t.Context(), wire.Query{Type: phases.EventAccess, Decision: wire.AccessRefused})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	e := list[0]
	if strings.ContainsAny(e.Reason+e.User, "\n\x1b") || e.Session != "s" || e.Runtime != "custom" || e.Invocation != "" ||
		string(e.Output) != `{"code":"not_allowed","uid":1503,"count":7}` || e.DecidedBy != "belay" {
		t.Errorf("%+v", e)
	}
	if err := h.NoteMachine(t.Context(), kernel.DecisionBelieved, "system.yaml is in force",
		kernel.MachineNote{Revision: "sha256:0"}); err != nil {
		t.Fatal(err)
	}
	list, err = h.Events(t.Context(), wire.Query{Type: phases.EventNotice, Decision: kernel.DecisionBelieved})
	if err != nil || len(list) != 1 || string(list[0].Output) != `{"revision":"sha256:0"}` {
		t.Errorf("%+v, %v", list, err)
	}
	if err := h.Kernel.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.NoteAccess(t.Context(), kernel.Access{Decision: wire.AccessRefused}); !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
