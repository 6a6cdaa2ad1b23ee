package daemonapi_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

func TestDecodeQuestion(t *testing.T) {
	for _, good := range []daemonapi.Header{
		{Kind: daemonapi.FrameInvoke},
		{Kind: daemonapi.FrameInvoke, Flags: daemonapi.FlagWhole, Length: daemonapi.MaxQuestion},
		{Kind: daemonapi.FrameEvent, Flags: daemonapi.FlagWhole | daemonapi.FlagHeadless, Length: 7},
	} {
		h, err := daemonapi.DecodeQuestion([daemonapi.FrameHeader]byte(daemonapi.AppendHeader(nil, good)))
		if err != nil || h != good {
			t.Errorf("%+v came back as %+v, %v", good, h, err)
		}
	}
	for name, header := range map[string]string{
		"HTTP":                        "504f5354202f7631",
		"TLS":                         "1603010200010001",
		"another magic":               "bf01010000000000",
		"a version before":            "be00010000000000",
		"a version to come":           "be02010000000000",
		"no kind":                     "be01000000000000",
		"an unknown kind":             "be01030000000000",
		"an answer":                   "be01810000000000",
		"a problem":                   "be01830000000000",
		"an unknown flag":             "be01010800000000",
		"all flags":                   "be0102ff00000000",
		"headless, and no event":      "be01010200000000",
		"a look":                      "be01410000000000",
		"what a look has found":       "be01c10000000001",
		"one byte too many":           "be01010000400001",
		"as many bytes as can be":     "be010100ffffffff",
		"an event of as many as that": "be010200ffffffff",
	} {
		b, err := hex.DecodeString(header)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := daemonapi.DecodeQuestion([daemonapi.FrameHeader]byte(b)); !errors.Is(err, daemonapi.ErrFrame) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}

func TestDecodeEvent(t *testing.T) {
	long := strings.Repeat("r", daemonapi.MaxName)
	for _, c := range [][3]string{{"claude-code", "", "{}"}, {"", "", ""}, {long, long, "x"}, {"r", "e", ""}} {
		r, e, p, err := daemonapi.DecodeEvent(daemonapi.AppendEvent(nil, c[0], c[1], []byte(c[2])))
		if err != nil || r != c[0] || e != c[1] || string(p) != c[2] {
			t.Errorf("%.20q came back as %.20q, %.20q, %q, %v", c, r, e, p, err)
		}
	}
	for _, b := range []string{"", "\x00", "\x01", "\x01a", "\x02a\x00", "\x01a\x01", "\xff" + long[1:] + "\x00"} {
		if r, e, p, err := daemonapi.DecodeEvent([]byte(b)); !errors.Is(err, daemonapi.ErrFrame) {
			t.Errorf("%q is %q, %q, %q", b, r, e, p)
		}
	}
}

// However a body comes, its memory is what has come, and not what was announced.
func TestReadBody(t *testing.T) {
	whole := bytes.Repeat([]byte("0123456789"), 20_000)
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(whole),
		"a byte at a time": iotest.OneByteReader(bytes.NewReader(whole)),
		"with the end":     iotest.DataErrReader(bytes.NewReader(whole))} {
		b, err := daemonapi.ReadBody(r, len(whole))
		if err != nil || !bytes.Equal(b, whole) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if b, err := daemonapi.ReadHeld(iotest.OneByteReader(bytes.NewReader(whole)), len(whole)); err != nil ||
		!bytes.Equal(b, whole) {
		t.Errorf("held: %d bytes, %v", len(b), err)
	}
	for _, torn := range []string{"torn", ""} {
		if b, err := daemonapi.ReadHeld(strings.NewReader(torn), 10); string(b) != torn ||
			!errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("held: %q, %v", b, err)
		}
	}
	b, err := daemonapi.ReadBody(strings.NewReader("torn"), daemonapi.MaxQuestion)
	if string(b) != "torn" || !errors.Is(err, io.ErrUnexpectedEOF) || cap(b) > 64<<10 {
		t.Errorf("%q of capacity %d, %v", b, cap(b), err)
	}
	r := bytes.NewReader(whole)
	if _, err := daemonapi.ReadBody(r, 10); err != nil || r.Len() != len(whole)-10 {
		t.Errorf("%d bytes are left, %v", r.Len(), err)
	}
}

// exchanged is what Exchange makes of a daemon that answers with these bytes.
func exchanged(t *testing.T, ctx context.Context, answer []byte) (daemonapi.FrameKind, []byte, error) {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_, _ = io.ReadFull(there, make([]byte, daemonapi.FrameHeader+2))
		if answer == nil {
			<-ctx.Done()
			return
		}
		_, _ = there.Write(answer)
	}()
	q := append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameInvoke, Length: 2}), "{}"...)
	return daemonapi.Exchange(ctx, here, q, nil)
}

func TestExchange(t *testing.T) {
	large := bytes.Repeat([]byte("a"), 200_000)
	for _, body := range [][]byte{nil, []byte("{}"), large} {
		a := daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameVerdict, Length: len(body)})
		kind, got, err := exchanged(t, t.Context(), append(a, body...))
		if err != nil || kind != daemonapi.FrameVerdict || !bytes.Equal(got, body) {
			t.Errorf("%d bytes came back as %d of 0x%02x, %v", len(body), len(got), kind, err)
		}
	}
	for name, answer := range map[string]string{
		"nothing":           "",
		"HTTP":              "HTTP/1.1 400 Bad Request\r\n\r\n",
		"half a header":     "\xbe\x01\x81",
		"half a body":       "\xbe\x01\x81\x00\x00\x00\x00\x02{",
		"a question":        "\xbe\x01\x01\x00\x00\x00\x00\x02{}",
		"a flag":            "\xbe\x01\x81\x01\x00\x00\x00\x02{}",
		"another version":   "\xbe\x02\x81\x00\x00\x00\x00\x02{}",
		"two answers":       "\xbe\x01\x81\x00\x00\x00\x00\x02{}\xbe\x01\x81\x00\x00\x00\x00\x02{}",
		"more than MaxSize": "\xbe\x01\x81\x00\x04\x00\x00\x01{}",
	} {
		kind, b, err := exchanged(t, t.Context(), []byte(answer))
		if !errors.Is(err, daemonapi.ErrSick) || kind != 0 || b != nil {
			t.Errorf("%s: 0x%02x %q, %v", name, kind, b, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := exchanged(t, ctx, nil)
	if !errors.Is(err, daemonapi.ErrSick) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a daemon that hangs: %v", err)
	}
}

// A missing framed socket, and one that was left behind, leave the question to HTTP; what stands in
// its place does not.
func TestDialFrames(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, daemonapi.FrameSocketName)
	if _, err := daemonapi.DialFrames(t.Context(), dir); !errors.Is(err, daemonapi.ErrNoFrames) {
		t.Errorf("no socket: %v", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := daemonapi.DialFrames(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if !daemonapi.Quiet(conn) {
		t.Error("a connection on which nothing was said is not quiet")
	}
	if _, err := there.Write([]byte("x")); err != nil || daemonapi.Quiet(conn) {
		t.Error("a connection on which something came is quiet", err)
	}
	_, _ = conn.Read(make([]byte, 1))
	there.Close()
	if daemonapi.Quiet(conn) {
		t.Error("a closed connection is quiet")
	}
	conn.Close()
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := daemonapi.DialFrames(t.Context(), dir); !errors.Is(err, daemonapi.ErrNoFrames) {
		t.Errorf("a socket that was left behind: %v", err)
	}
	elsewhere := filepath.Join(dir, "elsewhere")
	other, err := net.Listen("unix", elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := errors.Join(os.Remove(path), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := daemonapi.DialFrames(t.Context(), dir); !errors.Is(err, daemonapi.ErrPeer) {
		t.Errorf("a link: %v", err)
	}
}

// FuzzFrames: no bytes make the decoders panic or take more memory than came, what they accept is
// written down as it came, and no frame can be a question and an answer.
func FuzzFrames(f *testing.F) {
	q := daemonapi.AppendEvent(nil, "claude-code", "PreToolUse", []byte("{}"))
	f.Add(append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameEvent, Length: len(q)}), q...))
	f.Add([]byte("\xbe\x01\x01\x01\x00\x00\x00\x02{}"))
	f.Add([]byte("\xbe\x01\x83\x00\x00\x00\x00\x02{}"))
	f.Add([]byte("\xbe\x01\x01\x00\xff\xff\xff\xff"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		defer here.Close()
		go func() {
			_, _ = there.Read(make([]byte, 1))
			_, _ = there.Write(b)
			there.Close()
		}()
		kind, answer, err := daemonapi.Exchange(t.Context(), here, []byte{0}, nil)
		if err != nil && !errors.Is(err, daemonapi.ErrSick) {
			t.Errorf("%v", err)
		}
		if len(b) < daemonapi.FrameHeader {
			return
		}
		header := [daemonapi.FrameHeader]byte(b)
		h, qerr := daemonapi.DecodeQuestion(header)
		if qerr == nil && err == nil {
			t.Errorf("a question is an answer: %x", header)
		}
		if err == nil && !bytes.Equal(append(daemonapi.AppendHeader(nil,
			daemonapi.Header{Kind: kind, Length: len(answer)}), answer...), b) {
			t.Errorf("the answer %q is not %q", answer, b)
		}
		if qerr != nil {
			return
		}
		if h.Length > daemonapi.MaxQuestion || !bytes.Equal(daemonapi.AppendHeader(nil, h), header[:]) {
			t.Errorf("%+v of %x", h, header)
		}
		body, _ := daemonapi.ReadBody(bytes.NewReader(b[daemonapi.FrameHeader:]), h.Length)
		if len(body) > len(b) || cap(body) > 2*len(b)+16<<10 {
			t.Errorf("%d bytes took %d", len(b), cap(body))
		}
		if r, e, p, err := daemonapi.DecodeEvent(body); err == nil &&
			!bytes.Equal(daemonapi.AppendEvent(nil, r, e, p), body) {
			t.Errorf("%q is not %q %q %q", body, r, e, p)
		}
	})
}

// The bytes of docs/WIRE.md are those that the encoder writes.
func TestBytesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/WIRE.md")
	if err != nil {
		t.Fatal(err)
	}
	frame := func(kind daemonapi.FrameKind, flags daemonapi.FrameFlags, body []byte) []byte {
		return append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: kind, Flags: flags, Length: len(body)}), body...)
	}
	for name, b := range map[string][]byte{
		"question": frame(daemonapi.FrameInvoke, 0,
			[]byte(`{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"ls"}}}`)),
		"event": frame(daemonapi.FrameEvent, daemonapi.FlagHeadless, daemonapi.AppendEvent(nil, "claude-code", "Stop",
			[]byte(`{"session_id":"s","hook_event_name":"Stop"}`))),
		"answer": frame(daemonapi.FrameAnswer, 0, []byte(`{"stdout":"{}","exit":0}`)),
	} {
		for i := 0; i < len(b); i += 16 {
			line := fmt.Sprintf("%04x  % x", i, b[i:min(i+16, len(b))])
			if !strings.Contains(string(page), "\n"+line) {
				t.Errorf("%s: no line %q", name, line)
			}
		}
	}
}
