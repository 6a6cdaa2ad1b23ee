package daemonapi_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

func TestLookAt(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("../else/where", link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]daemonapi.Found{
		file:                                  {State: daemonapi.FoundPlain},
		dir:                                   {State: daemonapi.FoundPlain},
		link:                                  {State: daemonapi.FoundLink, Target: "../else/where"},
		filepath.Join(dir, "none"):            {State: daemonapi.FoundAbsent},
		filepath.Join(file, "none"):           {State: daemonapi.FoundAbsent},
		dir + "/" + strings.Repeat("a", 5000): {},
	} {
		if got := daemonapi.LookAt(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

// looking serves one exchange with looks, and returns what Exchange makes of it.
func looking(t *testing.T, look func(string) daemonapi.Found, daemon func(net.Conn)) (daemonapi.FrameKind, []byte,
	error) {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	q := []byte("\xbe\x01\x01\x04\x00\x00\x00\x02{}")
	done := make(chan bool)
	go func() {
		defer close(done)
		defer there.Close()
		_ = there.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.ReadFull(there, make([]byte, len(q)))
		daemon(there)
	}()
	var tells daemonapi.Teller
	if look != nil {
		tells = daemonapi.LookFunc(look)
	}
	kind, body, err := daemonapi.Exchange(t.Context(), here, q, tells)
	_ = here.Close()
	<-done
	return kind, body, err
}

func lookFrame(path string) []byte {
	return append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameLook, Length: len(path)}), path...)
}

func verdictFrame() []byte { return []byte("\xbe\x01\x81\x00\x00\x00\x00\x02{}") }

// What is looked at comes back, whatever else is no answer is refused, and a look that hangs does not keep the answer
// from coming.
func TestExchangeWithLooks(t *testing.T) {
	at := func(p string) daemonapi.Found { return daemonapi.Found{State: daemonapi.FoundLink, Target: "to" + p} }
	kind, body, err := looking(t, at, func(c net.Conn) {
		for _, p := range []string{"/a", "/" + strings.Repeat("b", daemonapi.MaxPath-3)} {
			_, _ = c.Write(lookFrame(p))
			var header [daemonapi.FrameHeader]byte
			_, _ = io.ReadFull(c, header[:])
			h, err := daemonapi.DecodeFoundHeader(header)
			if err != nil {
				t.Error(err)
				return
			}
			b, _ := daemonapi.ReadBody(c, h.Length)
			if f, err := daemonapi.DecodeFound(b); err != nil || f != at(p) {
				t.Errorf("%+v, %v", f, err)
			}
		}
		_, _ = c.Write(verdictFrame())
	})
	if err != nil || kind != daemonapi.FrameVerdict || string(body) != "{}" {
		t.Errorf("0x%02x %q, %v", kind, body, err)
	}

	hangs := make(chan bool)
	defer close(hangs)
	kind, _, err = looking(t, func(string) daemonapi.Found { <-hangs; return daemonapi.Found{} }, func(c net.Conn) {
		_, _ = c.Write(append(lookFrame("/nfs"), verdictFrame()...)) // in one piece, too
	})
	if err != nil || kind != daemonapi.FrameVerdict {
		t.Errorf("a look that hangs: 0x%02x, %v", kind, err)
	}
	for name, b := range map[string][]byte{
		"two at once":     append(lookFrame("/a"), lookFrame("/b")...),
		"relative":        lookFrame("a"),
		"not clean":       lookFrame("/a/../b"),
		"no text":         lookFrame("/\xff"),
		"a zero":          lookFrame("/a\x00"),
		"too long":        lookFrame("/" + strings.Repeat("a", daemonapi.MaxPath)),
		"with a flag":     []byte("\xbe\x01\x41\x01\x00\x00\x00\x02/a"),
		"behind a answer": append(verdictFrame(), lookFrame("/a")...),
	} {
		_, _, err := looking(t, func(string) daemonapi.Found { <-hangs; return daemonapi.Found{} },
			func(c net.Conn) { _, _ = c.Write(b) })
		if !errors.Is(err, daemonapi.ErrSick) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err = looking(t, nil, func(c net.Conn) { _, _ = c.Write(lookFrame("/a")) }); !errors.Is(err,
		daemonapi.ErrSick) {
		t.Errorf("asked without being able to look: %v", err)
	}
}

// foundOf is whatever a file system may say.
func foundOf(b []byte) daemonapi.Found {
	if len(b) == 0 {
		return daemonapi.Found{}
	}
	return daemonapi.Found{State: daemonapi.FoundState(b[0]), Target: string(b[1:])}
}

// FuzzFound: no bytes make the decoders of looks panic, what they accept is written down as it came, and what cannot be
// told is told so.
func FuzzFound(f *testing.F) {
	f.Add([]byte("\xbe\x01\xc1\x00\x00\x00\x00\x05\x03/etc"))
	f.Add([]byte("\xbe\x01\xc1\x00\x00\x00\x00\x01\x02"))
	f.Add([]byte("\xbe\x01\xc1\x00\xff\xff\xff\xff\x03"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if f, err := daemonapi.DecodeFound(daemonapi.AppendFound(nil, foundOf(b))); err != nil {
			t.Errorf("%+v, %v", f, err)
		}
		if len(b) < daemonapi.FrameHeader {
			return
		}
		header := [daemonapi.FrameHeader]byte(b)
		h, err := daemonapi.DecodeFoundHeader(header)
		if err != nil {
			return
		}
		if _, err := daemonapi.DecodeQuestion(header); err == nil || h.Length > 1+daemonapi.MaxPath {
			t.Errorf("%x is a question, or too long", header)
		}
		body, _ := daemonapi.ReadBody(bytes.NewReader(b[daemonapi.FrameHeader:]), h.Length)
		if found, err := daemonapi.DecodeFound(body); err == nil && !bytes.Equal(daemonapi.AppendFound(nil, found), body) {
			t.Errorf("%+v of %q", found, body)
		}
	})
}
