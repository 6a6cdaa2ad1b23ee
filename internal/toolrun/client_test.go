//go:build unix

package toolrun

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// answering is a runner that answers each connection with these bytes, and then waits for its end.
func answering(t *testing.T, answer []byte) *Runners {
	t.Helper()
	here := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = readFrameOf(c)
				_, _ = c.Write(answer)
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return &Runners{running: map[int]int{}, dial: func(ctx context.Context) (daemonapi.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", here)
	}}
}

func readFrameOf(r io.Reader) (kind, error) {
	k, _, err := readFrame(r, make([]byte, maxData))
	return k, err
}

// One user has so many servers at once, and all users together have so many. An end gives its place back.
func TestServersAreBounded(t *testing.T) {
	r := answering(t, appendFrame(nil, frameRunning, nil))
	open := func(uid int) (io.Closer, error) {
		return r.For(uid)(t.Context(), "s", []string{"/x"}, nil, "", io.Discard)
	}
	var all []io.Closer
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for uid := 1; uid <= inTotal/perUser; uid++ {
		for range perUser {
			c, err := open(uid)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		if _, err := open(uid); !errors.Is(err, ErrBusy) {
			t.Errorf("user %d: %v", uid, err)
		}
	}
	if _, err := open(99); !errors.Is(err, ErrBusy) {
		t.Errorf("one more user: %v", err)
	}
	all[0].Close()
	if c, err := open(99); err != nil {
		t.Errorf("after one has ended: %v", err)
	} else {
		all = append(all, c)
	}
}

// What answers otherwise than a runner does is an error, and no server.
func TestRunnerThatAnswersNonsense(t *testing.T) {
	for what, c := range map[string]struct {
		answer []byte
		class  error
	}{
		"no frame":             {[]byte("HTTP/1.1 200 OK\r\n\r\n"), ErrAway},
		"output at once":       {appendFrame(nil, frameOutput, []byte("x")), ErrAway},
		"a refusal of no JSON": {appendFrame(nil, frameEnd, []byte("no")), ErrAway},
		"an unknown member":    {appendFrame(nil, frameEnd, []byte(`{"command":"x"}`)), ErrAway},
		"a refusal":            {encode(frameEnd, ending{Refused: "for a reason\x1b[1m"}), ErrRefused},
	} {
		_, err := answering(t, c.answer).For(1)(t.Context(), "s", []string{"/x"}, nil, "", io.Discard)
		if !errors.Is(err, c.class) || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("%s: %v", what, err)
		}
	}
	p, err := answering(t, append(appendFrame(nil, frameRunning, nil), "nonsense"...)).For(1)(t.Context(), "s",
		[]string{"/x"}, nil, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got, err := io.ReadAll(p); !errors.Is(err, errFrame) || len(got) > 0 {
		t.Errorf("later: %q, %v", got, err)
	}
	none := NewRunners(filepath.Join(t.TempDir(), "none"))
	if _, err := none.For(1)(t.Context(), "s", []string{"/x"}, nil, "", io.Discard); !errors.Is(err, ErrAway) {
		t.Errorf("without a runner: %v", err)
	}
	if none.total != 0 {
		t.Errorf("%d are counted", none.total)
	}
}

// A server that writes on while it is ended counts until it has: one user's servers never take more places than theirs.
func TestAServerCountsUntilItHasEnded(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	r := &Runners{running: map[int]int{}, dial: func(context.Context) (daemonapi.Conn, error) { return here, nil }}
	go func() {
		_, _ = readFrameOf(there)
		_, _ = there.Write(appendFrame(nil, frameRunning, nil))
	}()
	c, err := r.For(1)(t.Context(), "s", []string{"/x"}, nil, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := c.(*program)
	if !ok {
		t.Fatalf("%T", c)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = p.Close()
	}()
	for range 2 { // the second one comes when the first is known to be of no use
		if _, err := there.Write(appendFrame(nil, frameOutput, []byte("still here"))); err != nil {
			t.Fatalf("the connection was left: %v", err)
		}
		_ = p.out.CloseWithError(io.ErrClosedPipe)
	}
	select {
	case <-closed:
		t.Error("Close returned before the server had ended")
	default:
	}
	r.mu.Lock()
	counted := r.total
	r.mu.Unlock()
	if counted != 1 {
		t.Errorf("%d are counted", counted)
	}
	if _, err := there.Write(encode(frameEnd, ending{})); err != nil {
		t.Fatal(err)
	}
	<-closed
	<-p.ended
	if r.mu.Lock(); r.total != 0 {
		t.Errorf("%d are counted behind the end", r.total)
	}
	r.mu.Unlock()
}

// FuzzReadFrame: whatever the bytes are, a frame is within its bounds, and what was read of it can be made again.
func FuzzReadFrame(f *testing.F) {
	f.Add(encode(frameStart, start{Server: "files", UID: 1}))
	f.Add(appendFrame(nil, frameInput, []byte("x")))
	f.Add([]byte("x\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, src []byte) {
		k, body, err := readFrame(bytes.NewReader(src), make([]byte, maxData))
		if err != nil {
			return
		}
		if len(body) > limitOf(k) || !bytes.HasPrefix(src, appendFrame(nil, k, body)) {
			t.Fatalf("%q: %d bytes", k, len(body))
		}
	})
}
