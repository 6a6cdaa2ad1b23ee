package hookcmd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// stateDir is a directory in which belay has been set up, with a path that is short
// enough for a socket.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hook")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// daemon answers each connection with these bytes; nil is one that never answers.
func daemon(t *testing.T, dir string, answer []byte) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, daemonapi.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		close(ended)
		l.Close()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if answer == nil {
					<-ended
					return
				}
				if n, err := c.Read(make([]byte, 64<<10)); n == 0 || err != nil {
					return // the client only checked for a listener
				}
				_, _ = c.Write(answer)
			}()
		}
	}()
}

func ok(contentType, body string) []byte {
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\nConnection: close\r\n\r\n" + body)
}

// ran is what a process would have left behind.
type ran struct {
	code     int
	out, err string
	handed   [][]string
}

func run(t *testing.T, dir string, in io.Reader, args ...string) ran {
	t.Helper()
	return runPatiently(t, dir, in, 200*time.Millisecond, args...)
}

// runPatiently is run where the payload takes time to be read.
func runPatiently(t *testing.T, dir string, in io.Reader, payload time.Duration, args ...string) ran {
	t.Helper()
	var r ran
	var out, errs bytes.Buffer
	c := hookcmd.Command{
		In: in, Out: &out, Err: &errs, Getenv: func(string) string { return "" },
		HandOver: func(args []string) error {
			r.handed = append(r.handed, args)
			return os.ErrNotExist
		},
		Patience: payload * 3 / 2, PayloadPatience: payload,
	}
	r.code = c.Main(t.Context(), append(args, "--state", dir))
	r.out, r.err = out.String(), errs.String()
	return r
}

func payload(event string) string {
	return map[string]string{
		"PreToolUse":   `{"session_id":"s-1","transcript_path":"/home/dev/t.jsonl","cwd":"/home/dev/project","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_02"}`,
		"Stop":         `{"session_id":"s-1","transcript_path":"/home/dev/t.jsonl","cwd":"/home/dev/project","permission_mode":"default","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}`,
		"SessionStart": `{"session_id":"s-1","transcript_path":"/home/dev/t.jsonl","cwd":"/home/dev/project","hook_event_name":"SessionStart","source":"startup"}`,
	}[event]
}

// noes says how each event says no.
func noes() map[string]struct {
	exit    int
	pointer string
	value   string
	latches bool
} {
	return map[string]struct {
		exit    int
		pointer string
		value   string
		latches bool
	}{
		"PreToolUse":   {2, "/hookSpecificOutput/permissionDecision", `"deny"`, false},
		"Stop":         {0, "/continue", `false`, false},
		"SessionStart": {2, "", "", true},
	}
}

// checkNo fails unless the event was answered with its own way of saying no, with a
// note of it in the spool.
func checkNo(t *testing.T, dir, event string, r ran) {
	t.Helper()
	want := noes()[event]
	if r.code != want.exit || r.err == "" {
		t.Errorf("exit %d, want %d; %s", r.code, want.exit, r.err)
	}
	if want.pointer != "" {
		if v, found := phases.Get(jsontext.Value(strings.TrimSpace(r.out)), want.pointer); !found || string(v) != want.value {
			t.Errorf("answered %s", r.out)
		}
	}
	left, dropped := notes.Read(filepath.Join(dir, notes.SpoolName))
	if len(left) != 1 || dropped != 0 || left[0].Runtime != "claude-code" || left[0].Session != "s-1" ||
		left[0].Unblockable != want.latches || left[0].Kind == "" {
		t.Errorf("notes %+v, %d dropped", left, dropped)
	}
}

// Whatever a daemon does that is no answer, the event says no.
func TestDaemonsThatAreNotWell(t *testing.T) {
	const kind = "application/json"
	answers := map[string][]byte{
		"hangs":           nil,
		"closes":          {},
		"speaks no HTTP":  []byte("220 mail.example ESMTP\r\n"),
		"answers no JSON": ok("text/html", "<p>{}</p>"),
		"says nothing":    ok(kind, ""),
		"is cut off": []byte(
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"stdout\":\"{}\"}"),
		"answers half":    ok(kind, `{"stdout":"{}","exi`),
		"says it twice":   ok(kind, `{"stdout":"{}","exit":0,"exit":2,"stderr":"no"}`),
		"an empty object": ok(kind, `{}`),
		"no status":       ok(kind, `{"stdout":"{}","stderr":""}`),
		"no document":     ok(kind, `{"exit":0,"stderr":""}`),
		"null":            ok(kind, `{"stdout":null,"exit":0}`),
		"another status":  ok(kind, `{"stdout":"{}","exit":1}`),
		"exit 2 unsaid":   ok(kind, `{"stdout":"","exit":2,"stderr":""}`),
		"wrong types":     ok(kind, `{"stdout":{},"exit":"0"}`),
		"an error": []byte(
			"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"stdout\":\"{}\",\"exit\":0}"),
		"refuses": []byte(
			"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"error\":{\"code\":\"token\",\"message\":\"this token is not known\"}}"),
		"sends elsewhere": []byte(
			"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://belay/other\r\nConnection: close\r\n\r\n"),
		"an empty verdict": ok("application/problem+json", `{}`),
	}
	for name, answer := range answers {
		for event := range noes() {
			t.Run(name+"/"+event, func(t *testing.T) {
				dir := stateDir(t)
				daemon(t, dir, answer)
				r := run(t, dir, strings.NewReader(payload(event)), "--runtime", "claude-code", "--for", event)
				checkNo(t, dir, event, r)
				if len(r.handed) != 0 {
					t.Errorf("went round the daemon: %v", r.handed)
				}
			})
		}
	}
}

// A daemon's answer is passed on as it is.
func TestAnswersArePassedOn(t *testing.T) {
	dir := stateDir(t)
	daemon(t, dir, ok("application/json", `{"stdout":"{\"a\":1}\n","stderr":"said","exit":2,"notes":["a note"]}`))
	r := run(t, dir, strings.NewReader(payload("PreToolUse")), "--runtime", "claude-code")
	if r.code != 2 || r.out != "{\"a\":1}\n" || r.err != "belay-hook: note: a note\nsaid\n" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, notes.SpoolName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a note of an answer: %v", err)
	}
}

// Payloads that cannot be read are refused without asking the daemon.
func TestPayloadsThatCannotBeRead(t *testing.T) {
	open, _ := io.Pipe() // never closed
	for name, in := range map[string]io.Reader{
		"never complete": io.MultiReader(strings.NewReader(payload("PreToolUse")), open),
		"breaks":         io.MultiReader(strings.NewReader(payload("PreToolUse")), brokenReader{}),
		"too large": io.MultiReader(strings.NewReader(payload("PreToolUse")),
			strings.NewReader(strings.Repeat(" ", hookcmd.MaxInput))),
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			daemon(t, dir, ok("application/json", `{"stdout":"{}","exit":0}`))
			checkNo(t, dir, "PreToolUse", run(t, dir, in, "--runtime", "claude-code", "--for", "PreToolUse"))
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// Without a daemon, and with arguments that it does not know, belay takes over with
// all of the payload; if that fails the answer is no, with what to do.
func TestHandingOver(t *testing.T) {
	for name, args := range map[string][]string{
		"no daemon":       {"--runtime", "claude-code"},
		"another flag":    {"--wait", "5s", "--runtime", "claude-code"},
		"another form":    {"--runtime=claude-code", "-f", "x"},
		"a word":          {"--runtime=claude-code", "eval"},
		"an unfinished 1": {"--runtime=claude-code", "--event"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			in := strings.NewReader(payload("PreToolUse"))
			read := -1
			var out, errs bytes.Buffer
			c := hookcmd.Command{In: in, Out: &out, Err: &errs, Getenv: func(string) string { return dir },
				HandOver: func(got []string) error {
					read = len(payload("PreToolUse")) - in.Len()
					if strings.Join(got, " ") != strings.Join(args, " ") {
						t.Errorf("handed over %q", got)
					}
					return os.ErrNotExist
				}}
			code := c.Main(context.Background(), args)
			if read != 0 {
				t.Errorf("handed over after %d bytes were read", read)
			}
			if code != 2 || !strings.Contains(out.String(), `"permissionDecision":"deny"`) ||
				!strings.Contains(errs.String(), "`belay serve`") {
				t.Errorf("exit %d, %s, %s", code, out.String(), errs.String())
			}
		})
	}
}

// What no runtime is named for has exit 2 and nothing on standard output.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--runtime", "nobody"}, {"--runtime="}, {"--for", "Stop"}, {"--help"},
		{"--runtime", "claude-code", "-h"}} {
		r := run(t, stateDir(t), strings.NewReader("{}"), args...)
		if r.code != 2 || r.out != "" || !strings.Contains(r.err, "usage: belay-hook") || len(r.handed) != 0 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// An answer that cannot be written is no answer.
func TestAnswersThatAreNotRead(t *testing.T) {
	for event, want := range noes() {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		for _, c := range []struct {
			answer, name string
			out          io.Writer
			exit         int
		}{
			{`{}`, "broken", brokenWriter{}, want.exit},
			{`{"systemMessage":"x"}`, "broken", brokenWriter{}, want.exit},
			{`{"systemMessage":"x"}`, "null device", null, want.exit},
			{`{}`, "null device", null, 0}, // says nothing: not to read it is to go on, as it means
		} {
			doc, err := json.Marshal(map[string]any{"stdout": c.answer, "exit": 0})
			if err != nil {
				t.Fatal(err)
			}
			dir := stateDir(t)
			daemon(t, dir, ok("application/json", string(doc)))
			cmd := hookcmd.Command{In: strings.NewReader(payload(event)), Out: c.out, Err: io.Discard,
				Getenv: func(string) string { return dir }}
			if code := cmd.Main(t.Context(), []string{"--runtime", "claude-code"}); code != c.exit {
				t.Errorf("%s, %s, %s: exit %d, want %d", event, c.answer, c.name, code, c.exit)
			}
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }
