package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/phases"
)

// A client that announces a body and does not send it is answered and
// disconnected all the same: connections are few, and every local user can open
// some.
func TestBodiesThatDoNotCome(t *testing.T) {
	d := startDaemon(t, withListener, withServer(func(o *server.Options) { o.Body = 400 * time.Millisecond }))
	bearing := func(r client.Role) string { return "Authorization: Bearer " + d.token(t, r) + "\r\n" }
	const jsonType = "Content-Type: application/json\r\n"
	var wg sync.WaitGroup
	for name, c := range map[string]struct {
		head string
		want int
	}{
		"no token":        {"POST /v1/invoke HTTP/1.1\r\n" + jsonType, 401},
		"a wrong token":   {"POST /v1/invoke HTTP/1.1\r\nAuthorization: Bearer x\r\n" + jsonType, 401},
		"another role":    {"POST /v1/reload HTTP/1.1\r\n" + bearing(client.RoleInvoke), 403},
		"a page":          {"POST /v1/invoke HTTP/1.1\r\nOrigin: null\r\n" + jsonType, 403},
		"another host":    {"POST /v1/invoke HTTP/1.1\r\n" + jsonType, 403},
		"nothing there":   {"POST /nothing HTTP/1.1\r\n", 404},
		"another method":  {"DELETE /v1/invoke HTTP/1.1\r\n", 405},
		"health":          {"GET /healthz HTTP/1.1\r\n", 400},
		"status":          {"GET /v1/status HTTP/1.1\r\n" + bearing(client.RoleReview), 400},
		"a stream":        {"GET /v1/events?follow=true HTTP/1.1\r\n" + bearing(client.RoleReview), 400},
		"a recording":     {"GET /v1/recording?seconds=60&count=1 HTTP/1.1\r\n" + bearing(client.RoleAdmin), 400},
		"a form":          {"POST /v1/invoke HTTP/1.1\r\n" + bearing(client.RoleInvoke), 415},
		"an invocation":   {"POST /v1/invoke HTTP/1.1\r\n" + jsonType + bearing(client.RoleInvoke), 400},
		"unknown runtime": {"POST /adapters/none HTTP/1.1\r\n" + jsonType + bearing(client.RoleInvoke), 404},
		"a runtime": {"POST /adapters/claude-code?event=PreToolUse HTTP/1.1\r\n" + jsonType +
			bearing(client.RoleInvoke), 200},
		"a latch":    {"POST /v1/latches/clear HTTP/1.1\r\n" + jsonType + bearing(client.RoleAdmin), 400},
		"a decision": {"POST /v1/approvals/x/decide HTTP/1.1\r\n" + jsonType + bearing(client.RoleReview), 400},
		"a proposal": {"POST /v1/proposals HTTP/1.1\r\n" + jsonType + bearing(client.RoleInvoke), 413},
	} {
		for _, form := range []string{"Content-Length: 50000000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
			"Content-Length: 50000000\r\n\r\n{" + strings.Repeat(" ", 3<<20)} {
			host := d.server.Addr()
			if name == "another host" {
				host = "evil.example"
			}
			wg.Go(func() { withhold(t, d, name, c.head+"Host: "+host+"\r\n"+form, c.want) })
		}
	}
	// and a little of what the system throws away
	more := fmt.Sprintf("%sHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s",
		"POST /v1/invoke HTTP/1.1\r\n"+jsonType+bearing(client.RoleInvoke), d.server.Addr(), 32<<20,
		strings.Repeat(" ", phases.MaxInputBytes+16<<20+1000))
	wg.Go(func() { withhold(t, d, "more than is thrown away", more, 413) })
	wg.Wait()
	if strings.Contains(d.log.String(), `msg=decided`) {
		t.Errorf("a body that did not come was decided about: %s", d.log.String())
	}
}

// withhold sends a part of a request and sees that it is answered, and the connection
// ended.
func withhold(t *testing.T, d *daemon, name, part string, want int) {
	c, err := net.Dial("tcp", d.server.Addr())
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, part) // refused while it is sent: that shows in the answer
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	large := len(part) > 1<<20
	switch {
	case err != nil && large: // the answer can be lost when so much was not read
	case err != nil:
		t.Errorf("%s: no answer: %v", name, err)
	case resp.StatusCode != want && !(large && resp.StatusCode == http.StatusRequestEntityTooLarge):
		t.Errorf("%s: status %d, want %d", name, resp.StatusCode, want)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	if _, err := io.Copy(io.Discard, in); errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		t.Errorf("%s: the connection is kept (%v)", name, err)
	}
}

// The time that a body may take is not that of the decision, nor of the next request.
func TestBodyTimeEndsWithTheBody(t *testing.T) {
	const short = 200 * time.Millisecond
	d, h := holding(t, withListener, withServer(func(o *server.Options) { o.Body = short }))
	c, err := net.Dial("tcp", d.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for range 2 {
		body := asking("ls")
		fmt.Fprintf(c,
			"POST /v1/invoke HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", d.server.Addr(), d.token(t, client.RoleInvoke), len(body), body)
		<-h.began
		time.Sleep(2 * short) // the test is about this time
		h.letGo <- struct{}{}
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", resp, err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), `"decision":"allow"`) {
			t.Fatalf("%s %v", b, err)
		}
		_ = resp.Body.Close()
		time.Sleep(2 * short)
	}
}
