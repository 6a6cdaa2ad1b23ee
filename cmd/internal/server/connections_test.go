package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/phases"
)

// idle opens a connection, asks once, and keeps it.
func idle(t *testing.T, socket string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(c, "GET /v1/openapi.json HTTP/1.1\r\nHost: belay\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("an idle connection: %v", err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close() // not the connection, which idles
	return c
}

// Connections that idle take none away from those who ask, and the daemon says that there
// were too many: in its log, in its status, in numbers.
func TestIdleConnectionsGiveWay(t *testing.T) {
	d := startDaemon(t, withServer(func(o *server.Options) { o.Conns = 3 }))
	for range 5 {
		idle(t, d.server.Socket())
	}
	c := dial(t, d.dir)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if v, err := c.Invoke(ctx, invocation("s", "ls")); err != nil || v.Decision != phases.Allow {
		t.Fatalf("%s %v", v.Decision, err)
	}
	got := d.server.Connections()
	if got.Open > 3 || got.GaveWay < 3 || got.Connections < 3 {
		t.Errorf("%+v", got)
	}
	st, err := c.Status(ctx)
	if err != nil || st.Daemon.GaveWay < 3 || st.Daemon.Exhausted < 3 || st.Daemon.Connections < 1 ||
		st.Health != "degraded" ||
		!strings.Contains(strings.Join(st.Warnings, "\n"), "ran out of connections within the last minute") {
		t.Errorf("%+v %+v, %v", st.Daemon, st.Warnings, err)
	}
	resp, body := d.do(t, call{method: "GET", path: "/v1/status", header: bearer(d.token(t, client.RoleReview))})
	documented(t, "GET", "/v1/status", resp, body)
	if log := d.log.String(); strings.Count(log, "level=WARN msg=\"all connections are taken") != 1 {
		t.Errorf("log: %s", log)
	}
}
