package hookcmd_test

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// framing answers each question in frames with these bytes, and hands it on.
func framing(t *testing.T, dir string, answer []byte) (questions chan []byte) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, daemonapi.FrameSocketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	questions = make(chan []byte, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var header [daemonapi.FrameHeader]byte
				if _, err := io.ReadFull(c, header[:]); err != nil {
					return
				}
				h, err := daemonapi.DecodeQuestion(header)
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := daemonapi.ReadBody(c, h.Length)
				questions <- append(header[:], body...)
				_, _ = c.Write(answer)
			}()
		}
	}()
	return questions
}

func framed(kind daemonapi.FrameKind, body string) []byte {
	return append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: kind, Length: len(body)}), body...)
}

// An event goes to the framed socket where there is one, and the answer is passed on as it is.
func TestFramedEvent(t *testing.T) {
	dir := stateDir(t)
	daemon(t, dir, ok("application/json", `{"stdout":"over HTTP","exit":0}`))
	questions := framing(t, dir, framed(daemonapi.FrameAnswer, `{"stdout":"{\"a\":1}","stderr":"said","exit":2,"notes":["a note"]}`))
	r := runPatiently(t, dir, strings.NewReader(payload("PreToolUse")), time.Minute,
		"--runtime", "claude-code", "--for", "PreToolUse")
	if r.code != 2 || r.out != "{\"a\":1}\n" || r.err != "belay-hook: note: a note\nsaid\n" {
		t.Errorf("%+v", r)
	}
	name, event, body, err := daemonapi.DecodeEvent((<-questions)[daemonapi.FrameHeader:])
	if name != "claude-code" || event != "PreToolUse" || string(body) != payload("PreToolUse") || err != nil {
		t.Errorf("%q %q %q, %v", name, event, body, err)
	}
}

// Whatever is no answer in frames is the event's own no, with a note, and is not asked over HTTP.
func TestFramesThatAreNoAnswer(t *testing.T) {
	const fine = `{"stdout":"{}","exit":0}`
	for name, answer := range map[string][]byte{
		"nothing":       nil,
		"HTTP":          ok("application/json", fine),
		"torn":          framed(daemonapi.FrameAnswer, fine)[:12],
		"a verdict":     framed(daemonapi.FrameVerdict, fine),
		"a question":    framed(daemonapi.FrameEvent, fine),
		"a problem":     framed(daemonapi.FrameProblem, `{"status":403,"error":{"code":"forbidden","message":"no"}}`),
		"no problem":    framed(daemonapi.FrameProblem, fine),
		"empty":         framed(daemonapi.FrameAnswer, ""),
		"no document":   framed(daemonapi.FrameAnswer, "{}"),
		"no exit":       framed(daemonapi.FrameAnswer, `{"stdout":"{}"}`),
		"two answers":   append(framed(daemonapi.FrameAnswer, fine), framed(daemonapi.FrameAnswer, fine)...),
		"exit 1":        framed(daemonapi.FrameAnswer, `{"stdout":"{}","exit":1}`),
		"silent exit 2": framed(daemonapi.FrameAnswer, `{"stdout":"","exit":2}`),
	} {
		for event := range noes() {
			t.Run(name+"/"+event, func(t *testing.T) {
				dir := stateDir(t)
				daemon(t, dir, ok("application/json", fine))
				framing(t, dir, answer)
				r := run(t, dir, strings.NewReader(payload(event)), "--runtime", "claude-code", "--for", event)
				checkNo(t, dir, event, r)
				if len(r.handed) != 0 || strings.Contains(r.out, fine) {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}
