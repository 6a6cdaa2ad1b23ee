package server_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/phases"
)

// home is a caller with these files, each by its path; a directory is there where a file lies below it.
type home struct {
	t     *testing.T
	files map[string]string
	reads []daemonapi.Read
	lists []daemonapi.List
}

func (h *home) Look(at string) daemonapi.Found {
	for name := range h.files {
		if name == at || strings.HasPrefix(name, at+"/") {
			return daemonapi.Found{State: daemonapi.FoundPlain}
		}
	}
	return daemonapi.Found{State: daemonapi.FoundAbsent}
}

func (h *home) Read(r daemonapi.Read) daemonapi.Content {
	h.reads = append(h.reads, r)
	text, there := h.files[r.Path]
	switch {
	case !there && h.Look(r.Path).State == daemonapi.FoundPlain:
		return daemonapi.Content{State: daemonapi.ContentOther}
	case !there:
		return daemonapi.Content{State: daemonapi.ContentAbsent}
	}
	part := text[min(r.Offset, int64(len(text))):]
	return daemonapi.Content{
		State: daemonapi.ContentFile,
		Size:  int64(len(text)),
		Data:  []byte(part[:min(len(part), r.Length)]),
	}
}

func (h *home) List(l daemonapi.List) daemonapi.Names {
	h.lists = append(h.lists, l)
	n := daemonapi.Names{Told: true}
	for name := range h.files {
		if ok, _ := path.Match(l.Pattern, name); ok {
			n.Paths = append(n.Paths, name)
		}
	}
	slices.Sort(n.Paths)
	return n
}

// runsIn asks about a command of alice's in her project.
func runsIn(t *testing.T, command string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"phase": "pre_tool", "cwd": "/home/alice/p",
		"action": map[string]any{"tool": "exec", "args": map[string]string{"command": command}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const tells = daemonapi.FlagFiles | daemonapi.FlagContents

// lastEvent is the newest event with a verdict, as JSON.
func (d *daemon) lastEvent(t *testing.T) string {
	t.Helper()
	events, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventVerdict, Limit: 1, Newest: true})
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	b, err := json.Marshal(events[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The files that a command runs are read through the caller, in parts where they are long, and each read names its
// purpose. A caller that sets no flag for it is asked where links lead, and nothing else.
func TestCallersContents(t *testing.T) {
	d, dial := asCaller(t)
	long := strings.Repeat("x = 1\n", 300<<10)
	alice := &home{t: t, files: map[string]string{"/home/alice/p/run.sh": "echo of-alice\n./next.sh\n",
		"/home/alice/p/next.sh": "echo next\n", "/home/alice/p/long.py": long + "open('.claude/settings.json')\n",
		"/home/alice/p/dir/in": "", "/home/alice/p/Makefile": "all:\n\techo made\n"}}
	if _, _, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameInvoke, tells,
		runsIn(t, "sh run.sh; python3 long.py; make; sh gone.sh; sh dir")), alice); err != nil {
		t.Fatal(err)
	}
	event := d.lastEvent(t)
	for _, want := range []string{"echo of-alice", "echo next", ".claude/settings.json", "echo made"} {
		if !strings.Contains(event, want) {
			t.Errorf("the hooks are not told %q: %s", want, event)
		}
	}
	if strings.Contains(event, "gone.sh\",") || strings.Contains(event, "does not tell") {
		t.Errorf("%s", event)
	}
	times := map[string]int{}
	for _, r := range alice.reads {
		times[r.Path]++
		if r.For != files.Script || !strings.HasPrefix(r.Path, "/home/alice/p/") {
			t.Errorf("%+v", r)
		}
	}
	if times["/home/alice/p/run.sh"] != 1 || times["/home/alice/p/next.sh"] != 1 { // each read is a way to the caller
		t.Errorf("small scripts are read more than once: %v", times)
	}
	alice.reads = nil
	if _, _, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameInvoke, daemonapi.FlagFiles,
		runsIn(t, "sh run.sh")), alice); err != nil {
		t.Fatal(err)
	}
	if event = d.lastEvent(t); !strings.Contains(event, "does not tell") || len(alice.reads) > 0 || len(alice.lists) > 0 {
		t.Errorf("%v %v %s", alice.reads, alice.lists, event)
	}
}

// A skill of the caller is found and judged by what it runs.
func TestCallersSkill(t *testing.T) {
	d, dial := asCaller(t)
	alice := &home{t: t, files: map[string]string{
		"/home/alice/.claude/skills/deploy/SKILL.md": "---\nname: deploy\n---\n!`cat .env`\n"}}
	ask := func(tells daemonapi.Teller) string {
		payload := `{"session_id":"s","transcript_path":"/home/alice/.claude/projects/p/s.jsonl","cwd":"/home/alice/p",` +
			`"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Skill","tool_input":{"skill":"deploy"},` +
			`"tool_use_id":"t"}`
		q := daemonapi.AppendEvent(nil, "claude-code", "", []byte(payload))
		_, body, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameEvent, tells2(tells), string(q)), tells)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if body := ask(alice); !strings.Contains(body, "deny") || !strings.Contains(d.lastEvent(t), "cat .env") {
		t.Errorf("a skill that reads keys: %s %s", body, d.lastEvent(t))
	}
	for _, r := range alice.reads {
		if r.For != files.Skill {
			t.Errorf("%+v", r)
		}
	}
	alice.files = map[string]string{"/home/alice/.claude/skills/deploy/SKILL.md": "---\nname: deploy\n---\n!`ls`\n"}
	if body := ask(alice); strings.Contains(body, "deny") {
		t.Errorf("a skill that may run: %s", body)
	}
	if body := ask(daemonapi.LookFunc(alice.Look)); !strings.Contains(body, "deny") {
		t.Errorf("a skill that cannot be told: %s", body)
	}
}

// stalling is a home whose owner takes a while to tell what a file holds.
type stalling struct {
	*home
	reading, goOn chan struct{}
}

func (s *stalling) Read(r daemonapi.Read) daemonapi.Content {
	select {
	case s.reading <- struct{}{}:
		<-s.goOn
	default:
	}
	return s.home.Read(r)
}

// A caller who stalls keeps no turn: here the user has one, and another question of theirs is decided meanwhile. The
// slow one is decided by what was told in the end.
func TestWhoStallsKeepsNoTurn(t *testing.T) {
	d, dial := asCaller(t, withServer(func(o *server.Options) {
		o.Tenant, o.Patience = &server.Tenant{Share: server.NewTurns(0).Share()}, 700*time.Millisecond
	}))
	slow := &stalling{home: &home{t: t, files: map[string]string{"/home/alice/p/run.sh": "echo of-alice\n"}},
		reading: make(chan struct{}), goOn: make(chan struct{})}
	decided := make(chan error)
	go func() {
		_, _, err := daemonapi.Exchange(
			t.Context(),
			dial(),
			frame(daemonapi.FrameInvoke, tells, runsIn(t, "sh run.sh")),
			slow,
		)
		decided <- err
	}()
	<-slow.reading
	from := time.Now()
	kind, body, err := daemonapi.Exchange(t.Context(), dial(), frame(daemonapi.FrameInvoke, 0, runsIn(t, "ls")), nil)
	if err != nil || kind != daemonapi.FrameVerdict {
		t.Errorf("beside a caller who stalls: %v %s", err, body)
	}
	close(slow.goOn)
	inTime := time.Since(from) < time.Second // as long as one read may take
	if err := <-decided; err != nil {
		t.Fatal(err)
	}
	if event := d.lastEvent(t); inTime && !strings.Contains(event, "echo of-alice") {
		t.Error(event)
	}
}

func tells2(t daemonapi.Teller) daemonapi.FrameFlags {
	if _, links := t.(daemonapi.LookFunc); links {
		return daemonapi.FlagFiles
	}
	return tells
}

// content is an answer to a read, as bytes.
func content(state byte, size uint64, data string) []byte {
	return frame(daemonapi.FrameContent, 0, string(binary.BigEndian.AppendUint64([]byte{state}, size))+data)
}

// Whatever a caller answers to a read, or does not, its question is decided in time: what the command runs cannot be
// told, and the rest of what it says is no answer.
func TestHostileContents(t *testing.T) {
	d, dial := asCaller(t)
	big := strings.Repeat("a", 64<<10)
	for name, c := range map[string]struct {
		answers [][]byte // to the reads, the last one also to all further ones
		says    string
	}{
		"never":             {nil, "i/o timeout"},
		"half a body":       {[][]byte{content(2, 3, "abc")[:12]}, "i/o timeout"},
		"empty":             {[][]byte{frame(daemonapi.FrameContent, 0, "")}, "does not say what was read"},
		"an unknown state":  {[][]byte{frame(daemonapi.FrameContent, 0, "\x04")}, "not what was asked for"},
		"absent with bytes": {[][]byte{content(1, 3, "abc")}, "not what was asked for"},
		"no size":           {[][]byte{frame(daemonapi.FrameContent, 0, "\x02\x00")}, "not what was asked for"},
		"less than it says": {[][]byte{content(2, 4, "abc")}, "not what was asked for"},
		"more than it says": {[][]byte{content(2, 2, "abc")}, "not what was asked for"},
		"a negative size":   {[][]byte{content(2, 1<<63, big[:512])}, "not what was asked for"},
		"more than asked":   {[][]byte{content(2, 100<<10, big+"a")}, "more than 65545 bytes"},
		"2 GiB":             {[][]byte{[]byte("\xbe\x01\xc2\x00\x80\x00\x00\x00")}, "more than 65545 bytes"},
		"a flag":            {[][]byte{frame(daemonapi.FrameContent, 1, "\x01")}, "no answer"},
		"a look's answer":   {[][]byte{frame(daemonapi.FrameFound, 0, "\x02")}, "no answer"},
		"names":             {[][]byte{frame(daemonapi.FrameNames, 0, "\x01")}, "no answer"},
		"a verdict":         {[][]byte{frame(daemonapi.FrameVerdict, 0, `{"decision":"allow"}`)}, "no answer"},
		"two sizes": {[][]byte{content(2, 100<<10, big), content(2, 100<<10, big), content(2, 99<<10, big[:35<<10])},
			"told in two ways"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial()
			if _, err := conn.Write(frame(daemonapi.FrameInvoke, tells, runsIn(t, "sh run.sh"))); err != nil {
				t.Fatal(err)
			}
			from, reads := time.Now(), 0
			var verdict []byte
			for verdict == nil {
				switch kind, body := answerOn(t, conn); kind {
				case daemonapi.FrameLook:
					state := daemonapi.FoundPlain
					if strings.HasSuffix(string(body), ".git") {
						state = daemonapi.FoundAbsent
					}
					_, _ = conn.Write(frame(daemonapi.FrameFound, 0, string([]byte{byte(state)})))
				case daemonapi.FrameRead:
					if len(c.answers) > 0 {
						_, _ = conn.Write(c.answers[min(reads, len(c.answers)-1)])
					}
					reads++
				default:
					if slimOf(t, kind, body); time.Since(from) > 20*time.Second {
						t.Errorf("after %v", time.Since(from))
					}
					verdict = body
				}
			}
			closed(t, conn)
			log := d.log.String()
			at := strings.LastIndex(log, "the caller's files cannot be told")
			if line, _, _ := strings.Cut(log[max(at, 0):], "\n"); at < 0 || !strings.Contains(line, c.says) ||
				strings.Contains(line, "alice") {
				t.Errorf("the log does not say %q: %s", c.says, line)
			}
			if event := d.lastEvent(t); !strings.Contains(event, "does not tell") {
				t.Errorf("%s", event)
			}
		})
	}
}

// hostileNames answers a list with these bytes, and everything else as its home does.
func hostileNames(t *testing.T, conn net.Conn, h *home, names []byte) []byte {
	t.Helper()
	for {
		kind, body := answerOn(t, conn)
		switch kind {
		case daemonapi.FrameLook:
			_, _ = conn.Write(frame(daemonapi.FrameFound, 0, string(daemonapi.AppendFound(nil, h.Look(string(body))))))
		case daemonapi.FrameRead:
			r, err := daemonapi.DecodeRead(body)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write(frame(daemonapi.FrameContent, 0, string(daemonapi.AppendContent(nil, r, h.Read(r)))))
		case daemonapi.FrameList:
			_, _ = conn.Write(frame(daemonapi.FrameNames, 0, string(names)))
		default:
			return body
		}
	}
}

// Names that were not asked for are no answer: a skill is blocked then.
func TestHostileNames(t *testing.T) {
	d, dial := asCaller(t)
	h := &home{t: t, files: map[string]string{"/home/alice/.claude/skills/deploy/SKILL.md": "!`ls`\n"}}
	payload := `{"session_id":"s","transcript_path":"/home/alice/.claude/projects/p/s.jsonl","cwd":"/home/alice/p",` +
		`"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Skill","tool_input":{"skill":"deploy"},` +
		`"tool_use_id":"t"}`
	name := func(names ...string) []byte {
		b := []byte{1}
		for _, n := range names {
			b = append(binary.BigEndian.AppendUint16(b, uint16(len(n))), n...)
		}
		return b
	}
	for what, names := range map[string][]byte{
		"empty":                {},
		"an unknown state":     {2},
		"a name that is cut":   name("/home/alice/.claude/skills/deploy/SKILL.md")[:20],
		"another file":         name("/etc/shadow"),
		"a path with ..":       name("/home/alice/p/../.ssh/SKILL.md"),
		"names without a word": append([]byte{0}, name("/x")[1:]...),
		"a zero":               name("/home/alice/p/\x00/.claude/skills/deploy/SKILL.md"),
	} {
		conn := dial()
		q := daemonapi.AppendEvent(nil, "claude-code", "", []byte(payload))
		if _, err := conn.Write(frame(daemonapi.FrameEvent, tells, string(q))); err != nil {
			t.Fatal(err)
		}
		if body := hostileNames(t, conn, h, names); !bytes.Contains(body, []byte("deny")) {
			t.Errorf("%s: %s", what, body)
		}
		closed(t, conn)
	}
	if log := d.log.String(); !strings.Contains(log, "not those that were asked for") {
		t.Error(log)
	}
}
