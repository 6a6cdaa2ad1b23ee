package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/phases"
)

const bodyCut = `level=WARN msg="the body of a request was cut off, or did not come in time"`

// Whichever route a body is for, and whichever way it comes: the log tells when it was cut
// off, and how much of it came.
func TestTheLogTellsOfBodiesThatWereCutOff(t *testing.T) {
	d := startDaemon(t, withServer(func(o *server.Options) { o.Listen = "127.0.0.1:0" }))
	told := 0
	for path, role := range map[string]client.Role{
		"/v1/invoke": client.RoleInvoke, "/adapters/claude-code?event=Stop": client.RoleInvoke,
		"/v1/leases/check": client.RoleInvoke,
		"/v1/proposals":    client.RoleInvoke, "/v1/approvals/019ca945-0a00-7031-a9a5-96414c265e13/decide": client.RoleReview,
		"/v1/leases": client.RoleAdmin, "/v1/leases/revoke": client.RoleAdmin, "/v1/latches/clear": client.RoleAdmin,
		"/v1/config/accept": client.RoleAdmin, "/v1/config/user": client.RoleAdmin, "/v1/events/compact": client.RoleAdmin,
	} {
		token, err := client.ReadToken(d.dir, role)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range [][2]string{{"unix", d.server.Socket()}, {"tcp", d.server.Addr()}} {
			conn, err := net.Dial(address[0], address[1])
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(conn,
				"POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 77\r\n\r\n{\"phase", path, d.server.Addr(), token)
			if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
			told++
			route, _, _ := strings.Cut(path, "?")
			if log := d.log.String(); strings.Count(log, bodyCut) != told ||
				strings.Count(log, bodyCut+" path="+route+" bytes=7 announced=77") == 0 {
				t.Errorf("%s over %s: %d of %d told: %s", path, address[0], strings.Count(log, bodyCut), told, log)
				told = strings.Count(log, bodyCut)
			}
		}
	}
}

// Each undecided action of a caller who may ask is recorded, once, however its
// body came; a body that the network cut off latches nothing.
func TestRefusedBodiesAreRecorded(t *testing.T) {
	invoke, start := asking("ls"), claude("s-1", "SessionStart")
	large := func(s string) string {
		return strings.Replace(s, "{", `{"x":"`+strings.Repeat("x", 3<<20)+`",`, 1)
	}
	for name, c := range map[string]struct {
		path, sent string
		length     int // announced
		status     int
		latched    string
	}{
		"invoke: cut off":            {"/v1/invoke", invoke[:20], len(invoke), 400, ""},
		"invoke: cut off behind it":  {"/v1/invoke", invoke, len(invoke) + 9, 400, ""},
		"invoke: nothing came":       {"/v1/invoke", "", len(invoke), 400, ""},
		"invoke: too large":          {"/v1/invoke", large(invoke), len(large(invoke)), 413, ""},
		"invoke: too large, cut off": {"/v1/invoke", large(invoke), len(large(invoke)) + 9, 413, ""},
		"invoke: parameters":         {"/v1/invoke?x=1", invoke, len(invoke), 400, ""},
		"invoke: no JSON":            {"/v1/invoke", "{", 1, 400, ""},
		"runtime: cut off": {"/adapters/claude-code?event=SessionStart", start[:len(start)-1], len(start), 200,
			""},
		"runtime: nothing came": {"/adapters/claude-code?event=SessionStart", "", len(start), 200, ""},
		"runtime: too large": {"/adapters/claude-code?event=SessionStart", large(start), len(large(start)), 200,
			"s-1"},
		"runtime: too large, cut off": {"/adapters/claude-code?event=SessionStart", large(start), len(large(start)) + 9, 200,
			""},
		"runtime: named, then cut off": {"/adapters/claude-code?event=SessionStart", start + strings.Repeat(" ", 3<<20),
			len(start) + 4<<20, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t, withServer(func(o *server.Options) { o.Body = 5 * time.Second }))
			conn, err := net.Dial("unix", d.server.Socket())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(conn,
				"POST %s HTTP/1.1\r\nHost: belay\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.path,
				c.length, c.sent)
			if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, c.status, body)
			}
			refused, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventFailure})
			if err != nil || len(refused) != 1 || refused[0].Kind != phases.KindProtocol ||
				refused[0].Decision != string(phases.Block) {
				t.Errorf("logged: %+v, %v", refused, err)
			}
			if got := strings.Join(d.latched(t), " "); got != c.latched {
				t.Errorf("latched %q, want %q", got, c.latched)
			}
			warned := 0
			if strings.Contains(name, "cut off") || strings.Contains(name, "nothing came") {
				warned = 1
			}
			if log := d.log.String(); strings.Count(log, bodyCut) != warned || warned > 0 &&
				strings.Count(log, "level=WARN") != 1 {
				t.Errorf("the log tells of the body %d times, want %d: %s", strings.Count(log, bodyCut), warned, log)
			}
		})
	}
}
