package server_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// pathConfig binds a hook that follows links.
const pathConfig = `version: belay/v1
hooks:
  - name: path-guard
    module: builtin:path-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, path_resolve]
`

// asCaller is the framed connection of a tenant whose files only the tenant can look at.
func asCaller(t *testing.T, options ...option) (*daemon, func() net.Conn) {
	t.Helper()
	uid := 4242
	d, path := asTenant(t, uid, &uid, append(options, withConfig(pathConfig), withBelay(func(o *belay.Options) {
		o.Files = (&server.Tenant{UID: uid}).Files()
	}))...)
	return d, func() net.Conn {
		conn, err := net.Dial("unix", filepath.Join(filepath.Dir(path), daemonapi.FrameSocketName))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		return conn
	}
}

// readsNotes asks whether a tool may open a file that, only for the caller, is a link to keys.
const readsNotes = `{"phase":"pre_tool","cwd":"/home/alice","action":{"tool":"read","args":{"file_path":"/home/alice/notes"}}}`

// aliceLooks is what alice sees of her files.
func aliceLooks(path string) daemonapi.Found {
	switch path {
	case "/home/alice/notes":
		return daemonapi.Found{State: daemonapi.FoundLink, Target: ".env"}
	case "/home", "/home/alice", "/home/alice/.env":
		return daemonapi.Found{State: daemonapi.FoundPlain}
	}
	return daemonapi.Found{State: daemonapi.FoundAbsent}
}

func slimOf(t *testing.T, kind daemonapi.FrameKind, body []byte) wire.Slim {
	t.Helper()
	var v wire.Slim
	if err := json.Unmarshal(body, &v); err != nil || kind != daemonapi.FrameVerdict {
		t.Fatalf("0x%02x %s, %v", kind, body, err)
	}
	return v
}

// A hook sees through the links of a caller whose files the daemon cannot look at, and only where the caller tells. The
// daemon never looks by itself.
func TestCallersLinks(t *testing.T) {
	d, dial := asCaller(t)
	conn := dial()
	for range 2 { // the connection takes the next question
		kind, body, err := daemonapi.Exchange(
			t.Context(),
			conn,
			frame(daemonapi.FrameInvoke, daemonapi.FlagFiles, readsNotes),
			daemonapi.LookFunc(aliceLooks),
		)
		if err != nil {
			t.Fatal(err)
		}
		if v := slimOf(t, kind, body); v.Decision != phases.Block || v.DecidedBy != "path-guard" {
			t.Errorf("a link to keys: %s", body)
		}
	}
	kind, body, err := daemonapi.Exchange(t.Context(), conn, frame(daemonapi.FrameInvoke, 0, readsNotes), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := slimOf(t, kind, body); v.Decision != phases.Allow {
		t.Errorf("without a caller that tells, the link cannot be known: %s", body)
	}
	// The daemon's own user asks on its own socket, and is not asked.
	own := d.frames(t)
	if kind, body, err = daemonapi.Exchange(t.Context(), own, frame(daemonapi.FrameInvoke, daemonapi.FlagFiles,
		readsNotes),
		daemonapi.LookFunc(func(path string) daemonapi.Found {
			t.Errorf("asked about %s", path)
			return daemonapi.Found{}
		})); err != nil {
		t.Fatal(err)
	}
	slimOf(t, kind, body)
}

// Whatever a caller answers to a look, or does not, its question is decided in time, and the rest of what it says is no
// answer. The daemon says why in its log, and others are not kept waiting.
func TestHostileCallersFiles(t *testing.T) {
	d, dial := asCaller(t)
	found := func(body string) []byte { return frame(daemonapi.FrameFound, 0, body) }
	for name, c := range map[string]struct {
		answer []byte
		says   string
		goes   bool // the caller closes the connection
	}{
		"never":                  {nil, "i/o timeout", false},
		"goes":                   {nil, "EOF", true},
		"half a header":          {found("\x02")[:5], "i/o timeout", false},
		"half a body":            {found("\x03/etc")[:10], "i/o timeout", false},
		"cut off":                {found("\x03/etc")[:10], "unexpected EOF", true},
		"empty":                  {found(""), "does not say what was found", false},
		"an unknown state":       {found("\x04"), "not what a look can find", false},
		"a file with a target":   {found("\x02/etc"), "not what a look can find", false},
		"a link to nothing":      {found("\x03"), "not what a look can find", false},
		"a link of no text":      {found("\x03\xff\xfe"), "not what a look can find", false},
		"a link with a zero":     {found("\x03/etc\x00"), "not what a look can find", false},
		"a link that is too far": {found("\x03" + strings.Repeat("a", daemonapi.MaxPath+1)), "more than 4097 bytes", false},
		"4 GiB":                  {[]byte("\xbe\x01\xc1\x00\xff\xff\xff\xff"), "more than 4097 bytes", false},
		"a flag":                 {frame(daemonapi.FrameFound, 1, "\x02"), "no answer", false},
		"another question":       {frame(daemonapi.FrameInvoke, 0, asked), "no answer", false},
		"a verdict":              {frame(daemonapi.FrameVerdict, 0, `{"decision":"allow"}`), "no answer", false},
		"HTTP":                   {[]byte("GET / HTTP/1.1\r\n\r\n"), "begins with 0x47", false},
	} {
		t.Run(name, func(t *testing.T) {
			before := strings.Count(d.log.String(), "the caller's files cannot be told")
			conn := dial()
			from := time.Now()
			if _, err := conn.Write(frame(daemonapi.FrameInvoke, daemonapi.FlagFiles, readsNotes)); err != nil {
				t.Fatal(err)
			}
			kind, body := answerOn(t, conn)
			if kind != daemonapi.FrameLook || string(body) != "/home" {
				t.Fatalf("0x%02x %s", kind, body)
			}
			_, _ = conn.Write(c.answer)
			if c.goes {
				conn.Close()
			} else {
				kind, body = answerOn(t, conn)
				if v := slimOf(t, kind, body); v.Event == nil || time.Since(from) > 20*time.Second {
					t.Errorf("%s after %v", body, time.Since(from))
				}
				closed(t, conn)
			}
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
				log := d.log.String()
				at := strings.LastIndex(log, "the caller's files cannot be told")
				if strings.Count(log, "the caller's files cannot be told") == before+1 && strings.Contains(log[at:], c.says) {
					if line, _, _ := strings.Cut(log[at:], "\n"); strings.Contains(line, "alice") {
						t.Errorf("the log names a path: %s", line)
					}
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the log says nothing of %q: %s", c.says, log[max(at, 0):])
				}
			}
		})
	}
}

// Links without an end, answers that come at the last moment, and answers behind the verdict end where they should.
func TestCallersWithoutEnd(t *testing.T) {
	d, dial := asCaller(t)
	paths := make([]string, 60)
	for i := range paths {
		paths[i] = fmt.Sprintf("/home/alice/%d", i)
	}
	args, _ := json.Marshal(map[string]any{"phase": "pre_tool", "action": map[string]any{"tool": "my_reader",
		"args": map[string]any{"paths": paths}}})
	looks := 0
	kind, body, err := daemonapi.Exchange(
		t.Context(),
		dial(),
		frame(daemonapi.FrameInvoke, daemonapi.FlagFiles, string(args)),
		daemonapi.LookFunc(func(path string) daemonapi.Found {
			looks++
			return daemonapi.Found{State: daemonapi.FoundLink, Target: fmt.Sprintf("/%d", looks)}
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	if slimOf(t, kind, body); looks < 40 || looks > 4096 {
		t.Errorf("%d looks", looks)
	}
	conn := dial()
	if _, err := conn.Write(frame(daemonapi.FrameInvoke, 0, asked)); err != nil {
		t.Fatal(err)
	}
	answerOn(t, conn)
	if _, err := conn.Write(frame(daemonapi.FrameFound, 0, "\x02")); err != nil {
		t.Fatal(err)
	}
	refusedBy(t, conn, 400, wire.CodeRequest)
	if _, err := io.ReadAll(conn); err != nil {
		t.Error(err)
	}
	if !strings.Contains(d.log.String(), "no question is of the kind 0xc1") {
		t.Error(d.log.String())
	}
}

// The daemon reads nothing of a tenant's files, not even what it could read: what a command runs is told without its
// text, also where a path that the tenant names leads into the daemon's own files.
func TestTenantsFilesAreNotRead(t *testing.T) {
	d, dial := asCaller(t)
	const secret = "echo of-the-daemon"
	if err := os.WriteFile(filepath.Join(d.dir, "own.sh"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	question, err := json.Marshal(map[string]any{"phase": "pre_tool", "cwd": d.dir,
		"action": map[string]any{"tool": "exec", "args": map[string]string{"command": "sh own.sh; sh none.sh"}}})
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	for _, flags := range []daemonapi.FrameFlags{0, daemonapi.FlagFiles} {
		if _, _, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameInvoke, flags, string(question)),
			daemonapi.LookFunc(func(p string) daemonapi.Found {
				looks++
				if filepath.Base(p) == "none.sh" || filepath.Base(p) == ".git" {
					return daemonapi.Found{State: daemonapi.FoundAbsent}
				}
				return daemonapi.Found{State: daemonapi.FoundPlain}
			})); err != nil {
			t.Fatal(err)
		}
	}
	events, err := d.host.Events(t.Context(), wire.Query{Limit: 10})
	if err != nil || looks == 0 {
		t.Fatalf("%d events, %d looks, %v", len(events), looks, err)
	}
	var told []bool // of none.sh
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if strings.Contains(text, "of-the-daemon") {
			t.Errorf("the daemon has read its own file: %s", text)
		}
		if strings.Contains(text, "whose program does not tell it") {
			told = append(told, strings.Contains(text, `none.sh","kind"`) || strings.Contains(text, `none.sh\",\"kind`))
		}
	}
	if len(told) != 2 || told[0] == told[1] {
		t.Errorf("where the caller tells, a file that is not there is not told; else it is: %v, %d events", told, len(events))
		for _, e := range events {
			raw, _ := json.Marshal(e)
			t.Logf("%.1500s", raw)
		}
	}
}
