package toolrun

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// setting tells this program that it is the runner of a test: JSON of what it decides by.
const setting = "BELAY_TEST_RUNNER"

type runnerSetting struct {
	Daemon  int                         `json:"daemon"`
	Servers map[string]config.MCPServer `json:"servers"`
	Temp    string                      `json:"temp"`
	Peer    int                         `json:"peer"` // who is taken for the one who asks; 0: who does
	Env     map[string]string           `json:"env"`
}

// TestMain is the runner of one connection and the server, too.
func TestMain(m *testing.M) {
	switch {
	case IsStarter(os.Args):
		os.Exit(Starter(os.Args))
	case len(os.Args) == 2 && os.Args[1] == "tool":
		tool()
	case os.Getenv(setting) != "":
		os.Exit(runOne())
	default:
		os.Exit(m.Run())
	}
}

// runOne is the runner of the connection at descriptor 3.
func runOne() int {
	var s runnerSetting
	if err := json.Unmarshal([]byte(os.Getenv(setting)), &s); err != nil {
		panic(err)
	}
	f := os.NewFile(3, "connection")
	c, err := net.FileConn(f)
	if err != nil {
		panic(err)
	}
	f.Close()
	// One that the runner was given by mistake.
	if _, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0); err != nil {
		panic(err)
	}
	if err := Hold(); err != nil {
		panic(err)
	}
	var peer func(syscall.Conn) (int, error)
	if s.Peer != 0 {
		peer = func(syscall.Conn) (int, error) { return s.Peer, nil }
	}
	err = Serve(context.Background(), c.(*net.UnixConn), Options{Daemon: s.Daemon, TempRoot: s.Temp, Peer: peer,
		Starter: []string{"/proc/self/exe", StarterCommand}, Report: func() Report { return Own("test") },
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Servers: func() (map[string]config.MCPServer, error) { return s.Servers, nil },
		Env:     func(name string) (string, bool) { v, ok := s.Env[name]; return v, ok }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// tool is a server that does what each line tells it, and answers each with a line.
func tool() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		word, rest, _ := strings.Cut(in.Text(), " ")
		fmt.Printf("%q\n", act(word, rest))
	}
}

func act(word, rest string) string {
	said := func(err error) string {
		var n syscall.Errno
		if errors.As(err, &n) {
			return n.Error()
		}
		return fmt.Sprint(err)
	}
	number, _ := strconv.Atoi(rest)
	switch word {
	case "echo":
		return rest
	case "pid":
		return strconv.Itoa(os.Getpid())
	case "environment":
		return strings.Join(os.Environ(), "\n")
	case "descriptors":
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return said(err)
		}
		var out []string
		for _, e := range list {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			out = append(out, e.Name()+" "+to)
		}
		return strings.Join(out, "\n")
	case "complain":
		fmt.Fprintln(os.Stderr, rest)
		return "done"
	case "read":
		_, err := os.ReadFile(rest)
		return said(err)
	case "list":
		_, err := os.ReadDir(rest)
		return said(err)
	case "write":
		return said(os.WriteFile(rest, []byte("x"), 0o600))
	case "close":
		dir := os.Getenv("TMPDIR") + "/closed"
		return said(errors.Join(os.MkdirAll(dir+"/in", 0o700), os.Chmod(dir, 0)))
	case "signal":
		return said(syscall.Kill(number, 0))
	case "trace":
		return said(syscall.PtraceAttach(number))
	case "spawn": // a program out of the group, whose parent ends
		cmd := exec.Command("/bin/sh", "-c", "setsid sh -c 'trap \"\" TERM; echo $$; exec 1>&-; sleep 1000' & read x")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return strings.TrimSpace(line) + strings.TrimPrefix(said(err), "<nil>")
	case "deaf":
		fmt.Printf("%q\n", "deaf")
		time.Sleep(time.Hour)
	case "end":
		os.Exit(number)
	}
	return "what?"
}

// rig is a machine with a runner for each connection.
type rig struct {
	t       *testing.T
	setting runnerSetting
	socket  string
	runners *Runners

	mu  sync.Mutex
	log bytes.Buffer
}

// Write takes what runners log.
func (r *rig) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func (r *rig) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

func newRig(t *testing.T, servers map[string]config.MCPServer) *rig {
	t.Helper()
	if version := Own("").Landlock; version == 0 {
		t.Skip("this kernel has no Landlock, without which no server starts")
	}
	dir := t.TempDir()
	r := &rig{t: t, socket: filepath.Join(dir, "s"), setting: runnerSetting{Daemon: os.Getuid(), Servers: servers,
		Temp: filepath.Join(dir, "temp"), Env: map[string]string{"SECRET": "hunter2hunter2"}}}
	if err := os.Mkdir(r.setting.Temp, 0o700); err != nil {
		t.Fatal(err)
	}
	r.hand(dir, r.setting.Temp)
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // as systemd with Accept=yes
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := json.Marshal(r.setting)
			if err != nil {
				panic(err)
			}
			f, err := c.(*net.UnixConn).File()
			if err != nil {
				panic(err)
			}
			cmd := exec.Command(self(t))
			cmd.Env, cmd.ExtraFiles, cmd.Stderr = []string{setting + "=" + string(s)}, []*os.File{f}, r
			if os.Getuid() == 0 { // who may do everything, which is no test
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: toolsUser, Gid: toolsUser}}
			}
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			f.Close()
			c.Close()
			go cmd.Wait()
		}
	}()
	s := daemonapi.SocketAt(r.socket)
	r.runners = &Runners{running: map[int]int{}, dial: s.Dial}
	return r
}

// toolsUser is whom runners and servers run as where the test is root's. It has no name.
const toolsUser = 4242

// hand gives a directory to that user, who can look up what lies above it.
func (r *rig) hand(above string, dirs ...string) {
	r.t.Helper()
	err := errors.Join(os.Chmod(filepath.Dir(above), 0o755), os.Chmod(above, 0o755))
	if os.Getuid() == 0 {
		for _, dir := range dirs {
			err = errors.Join(err, os.Chown(dir, toolsUser, toolsUser))
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// self is this program, where every user can start it.
func self(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("belay-toolrun-%d.test", os.Getpid()))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.Link(os.Args[0], path); err != nil { // another file system
		b, err := os.ReadFile(os.Args[0])
		if err = errors.Join(err, os.WriteFile(path, b, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Remove(path) })
	return path
}

// server is a connection to a tool.
type server struct {
	io.ReadWriteCloser
	t  *testing.T
	in *bufio.Reader
}

// start has the entry of that name started for a user.
func (r *rig) start(uid int, name string, says io.Writer) (*server, error) {
	e := r.setting.Servers[name]
	p, err := r.runners.For(uid)(r.t.Context(), name, e.Command, e.Env, e.CWD, says)
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { p.Close() })
	return &server{p, r.t, bufio.NewReader(p)}, nil
}

func (r *rig) mustStart(uid int, name string) *server {
	r.t.Helper()
	s, err := r.start(uid, name, io.Discard)
	if err != nil {
		r.t.Fatal(err, r.logged())
	}
	return s
}

// ask has the tool do something.
func (s *server) ask(line string) string {
	s.t.Helper()
	if _, err := io.WriteString(s, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	got, err := s.in.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	text, err := strconv.Unquote(strings.TrimSpace(got))
	if err != nil {
		s.t.Fatalf("%q: %v", got, err)
	}
	return text
}

func (s *server) pid() int {
	s.t.Helper()
	n, err := strconv.Atoi(s.ask("pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// tools are entries of servers that are this program.
func tools(t *testing.T, names ...string) map[string]config.MCPServer {
	out := map[string]config.MCPServer{}
	for _, n := range names {
		out[n] = config.MCPServer{Command: []string{self(t), "tool"}, Env: []string{"SECRET"}, Tools: []string{"*"}}
	}
	return out
}

// gone waits until no process has that number.
func gone(t *testing.T, what string, pid int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
	}
	t.Errorf("%s, %d, is still there", what, pid)
}

func sorted(text string) []string { return slices.Sorted(slices.Values(strings.Split(text, "\n"))) }
