package server_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
)

// ageOf is what differs between two answers that say the same.
var ageOf = regexp.MustCompile(`"age_ms":[0-9]+,`)

// looked is a host whose status is counted, and hangs if it is to.
type looked struct {
	server.Host
	looks atomic.Int64
	hangs atomic.Bool
	end   chan struct{}
}

func (l *looked) Status(ctx context.Context) (wire.Status, error) {
	l.looks.Add(1)
	if l.hangs.Load() {
		<-l.end
	}
	return l.Host.Status(ctx)
}

func looking(t *testing.T) (*daemon, *looked) {
	l := &looked{end: make(chan struct{})}
	return startDaemon(t, withListener, withHost(func(h server.Host) server.Host { l.Host = h; return l })), l
}

// However often they are asked for, health costs the store one look a second and status
// ten, and they say how old it is.
func TestHealthIsCached(t *testing.T) {
	d, l := looking(t)
	review := bearer(d.token(t, client.RoleReview))
	began := time.Now()
	for time.Since(began) < 900*time.Millisecond {
		if resp, body := d.do(t, call{method: "GET", path: "/healthz"}); resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", resp.StatusCode, body)
		}
	}
	if n, most := l.looks.Load(), int64(time.Since(began)/time.Second)+1; n > most {
		t.Errorf("%d looks at the store for health alone in %v, want %d at most", n, time.Since(began), most)
	}
	began = time.Now()
	l.looks.Store(0)
	for range 40 {
		for _, c := range []call{{method: "GET", path: "/healthz"}, {method: "GET", path: "/v1/status", header: review},
			{method: "GET", path: "/v1/hooks", header: review}} {
			resp, body := d.do(t, c)
			if resp.StatusCode != http.StatusOK || c.path != "/v1/hooks" && !strings.Contains(body, `"age_ms":`) {
				t.Fatalf("%s: status %d: %s", c.path, resp.StatusCode, body)
			}
		}
	}
	if n, most := l.looks.Load(), int64(time.Since(began)/(100*time.Millisecond))+1; n > most {
		t.Errorf("%d looks at the store in %v, want %d at most", n, time.Since(began), most)
	}
}

// While the store hangs, health and status give their last known answer with
// its age, and are red when that is too old. Every request is answered within 5
// s.
func TestHealthWhileTheStoreHangs(t *testing.T) {
	d, l := looking(t)
	review := bearer(d.token(t, client.RoleReview))
	get := func(path string) (status int, body string) {
		began := time.Now()
		resp, body := d.do(t, call{method: "GET", path: path, header: review})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: answered after %v", path, took)
		}
		return resp.StatusCode, body
	}
	if status, body := get("/healthz"); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	l.hangs.Store(true)
	defer close(l.end)
	time.Sleep(1100 * time.Millisecond) // the last look is too old to be given again
	var h wire.Health
	status, body := get("/healthz")
	if err := json.Unmarshal([]byte(body), &h); err != nil || status != http.StatusOK || h.Age < 1000 {
		t.Errorf("status %d: %s %v", status, body, err)
	}
	eventually(t, "what is known is too old", func() bool {
		status, body := get("/healthz")
		h = wire.Health{}
		err := json.Unmarshal([]byte(body), &h)
		return err == nil && status == http.StatusServiceUnavailable && !h.OK && h.State == "failing" && h.Age > 10_000
	})
	if status, body := get("/v1/status"); status != http.StatusOK || !strings.Contains(body, `"healthy":false`) ||
		!strings.Contains(body, "the store does not answer") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, _ := get("/v1/hooks"); status != http.StatusOK {
		t.Errorf("hooks: status %d", status)
	}
}

// Before anything is known, a daemon whose store hangs says that, and how long it has.
func TestHealthBeforeAnythingIsKnown(t *testing.T) {
	d, l := looking(t)
	l.hangs.Store(true)
	defer close(l.end)
	for path, want := range map[string]string{"/healthz": `{"ok":false,"state":"failing","age_ms":`,
		"/v1/status": `the store is not available`, "/v1/hooks": `the store is not available`} {
		resp, body := d.do(t, call{method: "GET", path: path, header: bearer(d.token(t, client.RoleReview))})
		if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, want) {
			t.Errorf("%s: status %d: %s", path, resp.StatusCode, body)
		}
	}
}
