package toolrun

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
)

// text is what a server complains about.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *text) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A server has its three streams, the variables that its entry lists and a directory of its own, which goes with it. Of
// its standard error the daemon gets lines, without values of those variables.
func TestServerHasWhatItsEntrySays(t *testing.T) {
	r := newRig(t, tools(t, "files"))
	var says text
	s, err := r.start(1001, "files", &says)
	if err != nil {
		t.Fatal(err, r.logged())
	}
	large := strings.Repeat("x", 300<<10)
	go io.WriteString(s, "echo "+large[:60<<10]+"\n")
	if got, err := s.in.ReadString('\n'); err != nil || len(got) != 60<<10+3 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	env := sorted(s.ask("environment"))
	if len(env) != 2 || env[0] != "SECRET=hunter2hunter2" || !strings.HasPrefix(env[1], "TMPDIR="+r.setting.Temp+"/") {
		t.Errorf("the environment: %q", env)
	}
	temp := strings.TrimPrefix(env[1], "TMPDIR=")
	for _, d := range sorted(s.ask("descriptors")) {
		// its runtime's, and the list
		if n, to, _ := strings.Cut(d, " "); n > "2" && !strings.HasPrefix(to, "/sys/") && to != "" {
			t.Errorf("it has descriptor %s", d)
		}
	}
	s.ask("complain it has hunter2hunter2 and\tmore")
	if got := s.ask("write " + filepath.Join(temp, "x")); got != "<nil>" {
		t.Errorf("in its own directory: %s", got)
	}
	if got := s.ask("close"); got != "<nil>" {
		t.Error(got)
	}
	pid := s.pid()
	s.Close()
	gone(t, "the server", pid)
	if got := says.String(); got != "it has [value of SECRET] and\tmore\n" {
		t.Errorf("it said %q", got)
	}
	if left, err := os.ReadDir(r.setting.Temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A line on standard error ends no server, also where it grows: the name of a variable stands there for each value.
func TestALineThatGrowsEndsNoServer(t *testing.T) {
	const name, value = "A_VARIABLE_WITH_A_LONG_NAME", "8letters"
	servers := tools(t, "files")
	entry := servers["files"]
	entry.Env = []string{name}
	servers["files"] = entry
	r := newRig(t, servers)
	r.setting.Env = map[string]string{name: value}
	var says text
	s, err := r.start(1001, "files", &says)
	if err != nil {
		t.Fatal(err, r.logged())
	}
	s.ask("complain " + strings.Repeat(value, 1000))
	if got := s.ask("complain after"); got != "done" {
		t.Errorf("the server: %q", got)
	}
	s.Close()
	if got := says.String(); strings.Contains(got, value) || !strings.HasPrefix(got, "[value of "+name+"]") ||
		!strings.HasSuffix(got, "after\n") {
		t.Errorf("it said %d bytes, %.100q", len(got), got)
	}
}

// Only the daemon's user has servers started. Root may ask what holds, and nothing else; others are not answered.
func TestOnlyTheDaemonHasServersStarted(t *testing.T) {
	r := newRig(t, tools(t, "files"))
	r.setting.Daemon, r.setting.Peer = 4343, 4344
	if _, err := r.start(1001, "files", io.Discard); !errors.Is(err, ErrAway) {
		t.Errorf("another user: %v", err)
	}
	if report, err := Ask(t.Context(), r.socket); err == nil {
		t.Errorf("another user asks what holds: %+v", report)
	}
	if os.Getuid() == 0 {
		r.setting.Peer = 0
		if _, err := r.start(1001, "files", io.Discard); !errors.Is(err, ErrRefused) {
			t.Errorf("root: %v", err)
		}
		if report, err := Ask(t.Context(), r.socket); err != nil || report.Version != "test" {
			t.Errorf("%+v, %v", report, err)
		}
	}
	for end := time.Now().Add(5 * time.Second); !strings.Contains(r.logged(),
		"only the daemon"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("logged: %s", r.logged())
		}
	}
	if got := r.logged(); strings.Contains(got, "a server runs") {
		t.Errorf("logged: %s", got)
	}
	r.setting.Daemon, r.setting.Peer = os.Getuid(), 0
	report, err := Ask(t.Context(), r.socket)
	if err != nil || os.Getuid() != 0 && report.UID != os.Getuid() || report.Landlock == 0 || report.Version != "test" {
		t.Errorf("%+v, %v", report, err)
	}
}

// What is started is what root's file says. The wire brings a name, and cannot bring a command.
func TestTheCommandComesFromRootsFile(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "started")
	servers := tools(t, "files")
	servers["remote"] = config.MCPServer{URL: "https://example.com/mcp", Tools: []string{"*"}}
	r := newRig(t, servers)
	start := r.runners.For(1001)
	touch := []string{"/bin/touch", marker}
	for what, c := range map[string]struct {
		name    string
		command []string
		env     []string
	}{
		"a server that the file does not name": {"other", touch, nil},
		"another command":                      {"files", touch, []string{"SECRET"}},
		"another argument":                     {"files", []string{self(t), "other"}, []string{"SECRET"}},
		"another variable":                     {"files", []string{self(t), "tool"}, []string{"LD_PRELOAD"}},
		"a server that is reached by its URL":  {"remote", nil, nil},
		"a path":                               {"../../bin/touch", touch, nil},
	} {
		p, err := start(t.Context(), c.name, c.command, c.env, "", io.Discard)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "belay.yaml") {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			p.Close()
		}
	}
	for _, frame := range []string{
		"s\x00\x00\x00\x02{}x", "s\x00\x00\x00\x2e" + `{"server":"files","digest":"","uid":1,"command":1}`,
		"i\x00\x00\x00\x01x", "\x00\x00\x00\x00\x00", "s\xff\xff\xff\xff", "s\x00", "GET / HTTP/1.1\r\n\r\n",
		"s\x00\x00\x00\x1f" + `{"server":"files","server":"x"}`,
	} {
		c, err := net.Dial("unix", r.socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, frame)
		_ = c.(*net.UnixConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		got, err := io.ReadAll(c)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) || strings.HasPrefix(string(got), "r") {
			t.Errorf("%q: answered %q, %v", frame, got, err)
		}
		c.Close()
	}
	if _, err := os.Stat(marker); err == nil || strings.Contains(r.logged(), "a server runs") {
		t.Errorf("something was started: %s", r.logged())
	}
}

// A server that cannot run is refused with the reason, and leaves nothing.
func TestServerThatCannotBeStarted(t *testing.T) {
	servers := tools(t, "unset", "reaches", "deep", "lost")
	for name, change := range map[string]func(*config.MCPServer){
		"unset":   func(s *config.MCPServer) { s.Env = []string{"NOT_SET"} },
		"reaches": func(s *config.MCPServer) { s.Reach.FSRead = phases.Scope{"/**"} },
		"deep":    func(s *config.MCPServer) { s.Reach.FSWrite = phases.Scope{"/var/lib/belay/users/1001/**"} },
		"lost":    func(s *config.MCPServer) { s.Command = []string{"/nowhere/at/all"} },
	} {
		s := servers[name]
		change(&s)
		servers[name] = s
	}
	r := newRig(t, servers)
	for name, says := range map[string]string{"unset": "NOT_SET is not set", "reaches": "no server may reach that",
		"deep": "/var/lib/belay", "lost": "cannot be run"} {
		if _, err := r.start(1001, name, io.Discard); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(r.setting.Temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if r.runners.total != 0 || len(r.runners.running) != 0 {
		t.Errorf("counted: %d, %v", r.runners.total, r.runners.running)
	}
}

// When the connection ends, so does the server, though it hangs and reads nothing, and a process that has left its
// group and its session. When the server ends by itself, so does the connection, with all that it has started.
func TestNothingOutlivesItsConnection(t *testing.T) {
	r := newRig(t, tools(t, "files"))
	for _, how := range []string{"closed", "died"} {
		s := r.mustStart(1001, "files")
		pid := s.pid()
		child, err := strconv.Atoi(s.ask("spawn"))
		if err != nil || child == pid {
			t.Fatal(child, err)
		}
		if how == "died" {
			_, _ = io.WriteString(s, "end 3\n")
			if got, err := io.ReadAll(s.in); err != nil || len(got) > 0 {
				t.Errorf("%q, %v", got, err)
			}
		} else {
			s.ask("deaf")
			go io.WriteString(s, strings.Repeat("x", 1<<20)) // waits, since the server reads nothing
			time.Sleep(20 * time.Millisecond)
			begin := time.Now()
			s.Close()
			if took := time.Since(begin); took > endTime-time.Second {
				t.Errorf("it took %v: nothing saw that the connection ends", took)
			}
		}
		gone(t, how+": the server", pid)
		gone(t, how+": its child", child)
	}
	if r.runners.total != 0 {
		t.Errorf("%d are counted", r.runners.total)
	}
}

// Servers of two users cannot look into each other, at each other's files, or into what runs them, and cannot signal
// each other where the kernel can tell.
func TestServersOfTwoUsersAreApart(t *testing.T) {
	r := newRig(t, tools(t, "files"))
	a, b := r.mustStart(1001, "files"), r.mustStart(1002, "files")
	pid := b.pid()
	if a.pid() == pid {
		t.Fatal("one process for two users")
	}
	temp := ""
	for _, e := range sorted(b.ask("environment")) {
		if after, ok := strings.CutPrefix(e, "TMPDIR="); ok {
			temp = after
		}
	}
	if got := b.ask("write " + temp + "/x"); got != "<nil>" {
		t.Error(got)
	}
	runner := parent(t, pid)
	proc := func(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
	try := func(what, line, want string) {
		t.Helper()
		if got := a.ask(line); got != want { // what comes later could stop what is not apart
			t.Fatalf("%s: %s", what, got)
		}
	}
	const denied, not = "permission denied", "operation not permitted"
	try("reads a file of the other's", "read "+temp+"/x", denied)
	try("lists its directory", "list "+temp, denied)
	try("puts a file there", "write "+temp+"/y", denied)
	try("lists where those directories are", "list "+r.setting.Temp, denied)
	try("reads its environment", "read "+proc(pid, "environ"), denied)
	try("looks at its working directory", "list "+proc(pid, "cwd/"), denied)
	try("traces it", "trace "+strconv.Itoa(pid), not)
	try("reads the environment of what runs it", "read "+proc(runner, "environ"), denied)
	try("traces what runs it", "trace "+strconv.Itoa(runner), not)
	try("reads a home", "list /root", denied)
	try("writes to /tmp", "write /tmp/belay-test", denied)
	try("lists /var/lib", "list /var/lib", denied)
	if Own("").Landlock >= 6 {
		try("signals it", "signal "+strconv.Itoa(pid), not)
		try("signals what runs itself", "signal "+strconv.Itoa(parent(t, a.pid())), not)
	}
	if got := b.ask("echo still here"); got != "still here" {
		t.Error(got)
	}
}

func parent(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	n, err := strconv.Atoi(f[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What reach names is open to a server, and no more.
func TestReachIsAWall(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"read", "write", "other"} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o755),
			os.WriteFile(filepath.Join(dir, name, "x"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	servers := tools(t, "files")
	s := servers["files"]
	s.Reach = phases.Scopes{FSRead: phases.Scope{dir + "/read/**", dir + "/missing/**"},
		FSWrite: phases.Scope{dir + "/write/**"}}
	s.CWD = dir + "/read"
	servers["files"] = s
	r := newRig(t, servers)
	r.hand(dir, dir+"/write", dir+"/write/x")
	a := r.mustStart(1001, "files")
	for line, want := range map[string]string{"read x": "<nil>", "write x": "permission denied",
		"read " + dir + "/write/x": "<nil>", "write " + dir + "/write/x": "<nil>", "write " + dir + "/write/y": "<nil>",
		"read " + dir + "/other/x": "permission denied", "list " + dir: "permission denied"} {
		if got := a.ask(line); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}
