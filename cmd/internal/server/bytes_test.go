package server_test

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// framed asks on a connection, and returns the answer.
func framed(t *testing.T, conn net.Conn, body string) string {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	go func() { // the answer may come before the end of the question
		_, _ = conn.Write(
			append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameInvoke, Length: len(body)}), body...),
		)
	}()
	var header [daemonapi.FrameHeader]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		t.Fatal(err)
	}
	answer, err := daemonapi.ReadBody(conn, int(binary.BigEndian.Uint32(header[4:])))
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// A large question that finds no place for its body is refused as one of an overload, with a record. It is no fault of
// the question.
func TestABodyWithoutAPlaceIsAnOverload(t *testing.T) {
	from := 4242
	d, path := asTenant(t, 4242, &from, withServer(func(o *server.Options) { o.Body = 100 * time.Millisecond }))
	free := server.TakeBytes(d.server, 0)
	large := asking(strings.Repeat("x", 100<<10))
	if got := overPath(t, path, "POST", "/v1/invoke", large, ""); got.status != 503 ||
		!strings.Contains(got.body, `"overloaded"`) ||
		!strings.Contains(got.body, `"event"`) {
		t.Errorf("over HTTP: %d %.300s", got.status, got.body)
	}
	conn, err := net.Dial("unix", filepath.Join(filepath.Dir(path), daemonapi.FrameSocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := framed(t, conn, large); !strings.Contains(got, `"status":503`) || !strings.Contains(got, `"overloaded"`) {
		t.Errorf("in a frame: %.300s", got)
	}
	free()
	list, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventFailure})
	if err != nil || len(list) != 2 || list[0].Kind != phases.KindDeadline {
		t.Errorf("recorded: %+v, %v", list, err)
	}
	if got := overPath(t, path, "POST", "/v1/invoke", large, ""); got.status != 200 {
		t.Errorf("afterwards: %d %.300s", got.status, got.body)
	}
}

// A question that is decided gives back the place of its body before its answer waits for one: both need not have room
// at once.
func TestTheAnswerHasTheRoomOfItsBody(t *testing.T) {
	from := 4242
	d, path := asTenant(t, 4242, &from)
	defer server.TakeBytes(d.server, server.MostBytes-1200<<10)()
	if got := overPath(t, path, "POST", "/v1/invoke", asking(strings.Repeat("x", 900<<10)), ""); got.status != 200 {
		t.Errorf("%d %.300s", got.status, got.body)
	}
}

// Of a frame that is too large no more is kept than is looked at, and its connection goes on.
func TestTooLargeAFrame(t *testing.T) {
	from := 4242
	d, path := asTenant(t, 4242, &from)
	defer server.TakeBytes(d.server, server.MostBytes-phases.MaxInputBytes-1)()
	conn, err := net.Dial("unix", filepath.Join(filepath.Dir(path), daemonapi.FrameSocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := framed(t, conn, asking(strings.Repeat("x", 3<<20))); !strings.Contains(got, `"status":413`) {
		t.Errorf("%.300s", got)
	}
	if got := framed(t, conn, asking("ls")); !strings.Contains(got, `"decision":"allow"`) {
		t.Errorf("then %.300s", got)
	}
}

// A server says for how long no connection has been open.
func TestQuiet(t *testing.T) {
	from := 4242
	d, path := asTenant(t, 4242, &from)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	until := func(what string, so func(time.Duration) bool) {
		t.Helper()
		for end := time.Now().Add(5 * time.Second); !so(d.server.Quiet()); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %v", what, d.server.Quiet())
			}
		}
	}
	until("with a connection", func(d time.Duration) bool { return d == 0 })
	_ = conn.Close()
	until("without one", func(d time.Duration) bool { return d > 0 })
	if q := d.server.Quiet(); q > 5*time.Second {
		t.Errorf("quiet since before the connection: %v", q)
	}
}
