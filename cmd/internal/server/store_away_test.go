package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/phases"
)

// without is a host whose store cannot be reached from some time on, as far as the daemon is told.
type without struct {
	*held
	away chan struct{}
}

func (w *without) StoreAway() <-chan struct{} { return w.away }

// Who finds no turn while the store is away is told of the store, and not of a crowd. It is no overload: it is counted
// as none, latches nothing as one, and has no end that is recorded.
func TestAnAwayStoreIsNoOverload(t *testing.T) {
	away, h := make(chan struct{}), &held{began: make(chan struct{}, 64), letGo: make(chan struct{})}
	d := startDaemon(t, withServer(func(o *server.Options) { o.Running, o.Queue, o.Patience = 1, 1, time.Hour }),
		withHost(func(inner server.Host) server.Host {
			h.Host = inner
			return &without{h, away}
		}))
	c := dial(t, d.dir)
	answers := h.fill(t, d, c)
	close(away)
	if got := <-answers; got != phases.Block {
		t.Errorf("who waited got %s", got)
	}
	for path, body := range map[string]string{"/v1/invoke": asking("ls"),
		"/v1/proposals": `{"name":"h","module":"AGFzbQEAAAA=","reason":"so"}`} {
		resp, got := d.do(t, call{method: "POST", path: path, body: body})
		documented(t, "POST", path, resp, got)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "" || !strings.Contains(got, `"code":"store"`) ||
			!strings.Contains(got, "the store cannot be reached") {
			t.Errorf("%s: %d %v %s", path, resp.StatusCode, resp.Header, got)
		}
	}
	if body := d.tell(t, "s-spawned", "SubagentStart"); !strings.Contains(body, "the store cannot be reached") {
		t.Errorf("an event of a runtime: %s", body)
	}
	list, err := c.Latches(t.Context())
	if err != nil || len(list) != 1 || list[0].Cause != phases.LatchStore {
		t.Errorf("latches %+v, %v", list, err)
	}
	st, err := c.Status(t.Context())
	if err != nil || st.Daemon.Overloaded != 0 {
		t.Errorf("%+v, %v", st.Daemon, err)
	}
	close(h.letGo)
	<-answers
	late, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventFailure, Kind: phases.KindDeadline})
	if err != nil || len(late) != 0 {
		t.Errorf("%+v, %v", late, err)
	}
}
