//go:build unix

package client

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// impostor answers every connection with an empty document that a runtime would take for
// "go on", and keeps the requests that it reads.
type impostor struct {
	mu    sync.Mutex
	heard []byte
	calls int
}

const goOn = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"stdout\":\"{}\",\"stderr\":\"\",\"exit\":0,\"notes\":[],\"verdicts\":[]}"

func (i *impostor) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		i.mu.Lock()
		i.calls++
		i.mu.Unlock()
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Second))
			b := make([]byte, 64<<10)
			n, _ := c.Read(b)
			i.mu.Lock()
			i.heard = append(i.heard, b[:n]...)
			i.mu.Unlock()
			if n > 0 {
				_, _ = io.WriteString(c, goOn)
			}
		}()
	}
}

func (i *impostor) told() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return string(i.heard)
}

// tokenDir is a state directory with a token of each role, short enough for a socket.
func tokenDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "belay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, r := range Roles() {
		if err := os.WriteFile(daemonapi.TokenPath(dir, r), []byte("belay_"+string(r)+"_"+strings.Repeat("x", 43)+"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func listenAt(t *testing.T, path string) *impostor {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	i := &impostor{}
	go i.serve(l)
	return i
}

// refusesToTell fails unless no call of the client tells the impostor anything, and no
// answer of it counts.
func refusesToTell(t *testing.T, name string, dir string, change func(*daemonapi.Socket)) {
	t.Helper()
	if _, err := Dial(dir); change == nil &&
		(!errors.Is(err, ErrPeer) || !errors.Is(err, ErrSick) || errors.Is(err, ErrNotRunning)) {
		t.Errorf("%s: dialed: %v", name, err)
	}
	c, err := New(Options{Socket: filepath.Join(dir, daemonapi.SocketName),
		Tokens: map[Role]string{RoleInvoke: "secret", RoleReview: "secret", RoleAdmin: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		d := daemonapi.SocketAt(filepath.Join(dir, daemonapi.SocketName))
		change(d)
		c.http.Transport.(*http.Transport).DialContext = dialSocket(d)
	}
	if a, err := c.Ask(t.Context(), "claude-code", "PreToolUse", []byte(`{"the":"payload"}`)); !errors.Is(err, ErrPeer) ||
		a.Stdout != "" {
		t.Errorf("%s: %+v, %v", name, a, err)
	}
	inv := phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "s",
		Action: []byte(`{"tool":"exec","call_id":"c","args":{"command":"ls"}}`)}
	if v, err := c.Invoke(t.Context(), inv); !errors.Is(err, ErrPeer) || v.Decision != phases.Block {
		t.Errorf("%s: %s, %v", name, v.Decision, err)
	}
	for what, err := range map[string]error{
		"health":    second(c.Health(t.Context())),
		"status":    second(c.Status(t.Context())),
		"approvals": second(c.Approvals(t.Context(), ApprovalQuery{})),
		"follow":    c.Follow(t.Context(), wire.Query{}, func(phases.Event) error { return nil }),
		"recording": second(c.Record(t.Context(), time.Second, 1, nil)),
	} {
		if !errors.Is(err, ErrPeer) {
			t.Errorf("%s: %s: %v", name, what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A socket that another user listens on, that leads elsewhere, or that others could have
// put there, is told nothing and believed nothing.
func TestTheSocketIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(t *testing.T, dir string)
		dialing func(*daemonapi.Socket)
	}{
		"another uid listens": {nil, func(d *daemonapi.Socket) {
			d.Peer = func(syscall.Conn) (int, error) { return os.Geteuid() + 1, nil }
		}},
		"root listens": {nil, func(d *daemonapi.Socket) {
			d.Peer = func(syscall.Conn) (int, error) { return os.Geteuid() - 1, nil }
		}},
		"the system is silent": {nil, func(d *daemonapi.Socket) {
			d.Peer = func(syscall.Conn) (int, error) { return os.Geteuid(), errors.New("x") }
		}},
		"the socket is of another": {nil, func(d *daemonapi.Socket) {
			d.UID++
			d.Peer = func(syscall.Conn) (int, error) { return d.UID, nil }
		}},
		"others write to the directory": {func(t *testing.T, dir string) {
			if err := os.Chmod(dir, 0o722); err != nil {
				t.Fatal(err)
			}
		}, nil},
		"a link": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, daemonapi.SocketName)
			if err := errors.Join(os.Rename(path, path+".other"), os.Symlink(path+".other", path)); err != nil {
				t.Fatal(err)
			}
		}, nil},
	} {
		dir := tokenDir(t)
		i := listenAt(t, filepath.Join(dir, daemonapi.SocketName))
		if c.change != nil {
			c.change(t, dir)
		}
		refusesToTell(t, name, dir, c.dialing)
		if told := i.told(); told != "" {
			t.Errorf("%s: was told %q", name, told)
		}
	}
	dir := tokenDir(t)
	i := listenAt(t, filepath.Join(dir, daemonapi.SocketName))
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), "claude-code", "PreToolUse", []byte(`{"the":"payload"}`)); err != nil ||
		!strings.Contains(i.told(), "payload") {
		t.Errorf("the own daemon: %v, told %q", err, i.told())
	}
}

const impostorEnv = "BELAY_TEST_IMPOSTOR"

// TestImpostorProcess is the other process of TestAnotherUserListens: it does nothing when
// it is run by itself.
func TestImpostorProcess(t *testing.T) {
	path := os.Getenv(impostorEnv)
	if path == "" {
		return
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	i := &impostor{}
	go i.serve(l)
	os.Stdout.WriteString("listening\n")
	_, _ = io.ReadAll(os.Stdin) // until the parent has seen enough
	os.Stdout.WriteString("heard:" + i.told() + "\n")
}

// Another user has bound the socket, really, while the directory was open; owner and mode
// of both look as they should again. (Only root can become another user: for the others
// TestTheSocketIsKnown has what can be shown.)
func TestAnotherUserListens(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	const otherUser = 65534
	dir := tokenDir(t)
	path := filepath.Join(dir, daemonapi.SocketName)
	exe := filepath.Join(dir, "impostor")
	b, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(exe, b, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestImpostorProcess$")
	cmd.Env = []string{impostorEnv + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("the impostor does not listen")
		}
	}
	if err := errors.Join(os.Chown(path, 0, 0), os.Chmod(path, 0o600), os.Chmod(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	refusesToTell(t, "another user", dir, nil)
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "heard:\n") {
		t.Errorf("it was told %q", out.String())
	}
}

// Proxies that the environment names are asked for nothing, and no answer sends the client
// elsewhere.
func TestNoProxyAndNoRedirect(t *testing.T) {
	other := listenTCP(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://"+other.addr)
	}
	dir := tokenDir(t)
	l, err := net.Listen("unix", filepath.Join(dir, daemonapi.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(time.Second))
			if n, _ := c.Read(make([]byte, 64<<10)); n > 0 {
				_, _ = io.WriteString(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://"+other.addr+
					"/\r\nConnection: close\r\n\r\n")
			}
			_ = c.Close()
		}
	}()
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), "claude-code", "PreToolUse", []byte(`{"the":"payload"}`)); !errors.Is(err, ErrSick) {
		t.Error(err)
	}
	if _, err := c.Reload(t.Context()); !errors.Is(err, ErrSick) {
		t.Error(err)
	}
	// A port leads to other ports, where a socket leads to itself.
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+other.addr+"/", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	overTLS, err := New(Options{URL: s.URL,
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := overTLS.Ask(t.Context(), "claude-code", "PreToolUse", []byte(`{"the":"payload"}`)); !errors.Is(err,
		ErrSick) || errors.Is(err, ErrPeer) {
		t.Error(err)
	}
	if other.told() != "" || other.calls != 0 {
		t.Errorf("another server was told %q in %d calls", other.told(), other.calls)
	}
	for _, c := range []*Client{c, overTLS} { // the library spares loopback addresses: only this shows it
		if c.http.Transport.(*http.Transport).Proxy != nil {
			t.Error("a proxy can be named")
		}
	}
}

type tcpImpostor struct {
	*impostor
	addr string
}

func listenTCP(t *testing.T) tcpImpostor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	i := &impostor{}
	go i.serve(l)
	return tcpImpostor{i, l.Addr().String()}
}

// The file that says which daemon is believed is one that others could not have written.
func TestReadCertificate(t *testing.T) {
	path := daemonapi.CertificatePath(tokenDir(t))
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadCertificate(path); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := New(Options{URL: "https://127.0.0.1:1", Certificate: []byte("x")}); err == nil {
		t.Error("no certificate is taken for one")
	}
	for name, change := range map[string]func() error{
		"others write":  func() error { return os.Chmod(path, 0o662) },
		"the group too": func() error { return os.Chmod(path, 0o664) },
		"a link":        func() error { return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)) },
		"large":         func() error { return errors.Join(os.Remove(path), os.WriteFile(path, make([]byte, 1<<20), 0o600)) },
		"a directory":   func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		_ = os.RemoveAll(path)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o644), change()); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCertificate(path); !errors.Is(err, ErrPeer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = os.RemoveAll(path)
	if _, err := ReadCertificate(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if os.Getuid() != 0 {
		return
	}
	if err := errors.Join(os.WriteFile(path, []byte("x"), 0o644), os.Chown(path, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCertificate(path); !errors.Is(err, ErrPeer) {
		t.Errorf("another user's: %v", err)
	}
}

// What says which daemon of another user is asked is written by root or this user only.
func TestConnect(t *testing.T) {
	dir := tokenDir(t)
	tok := filepath.Join(dir, connectToken)
	write := func() {
		t.Helper()
		_ = os.RemoveAll(tok)
		if err := errors.Join(
			os.WriteFile(filepath.Join(dir, connectURL), []byte("https://127.0.0.1:1\n"), 0o644), os.Chmod(dir, 0o755),
			os.WriteFile(tok, []byte(strings.Repeat("x", 43)+"\n"), 0o600), os.Chmod(tok, 0o640),
			os.WriteFile(filepath.Join(dir, connectCert), []byte(testCertificate), 0o644),
		); err != nil {
			t.Fatal(err)
		}
	}
	write()
	c, err := Connect(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), "claude-code", "Stop", []byte("{}")); !errors.Is(err, ErrSick) ||
		errors.Is(err, ErrNotRunning) {
		t.Errorf("no daemon listens: %v", err)
	}
	changes := map[string]func() error{
		"others write to it":         func() error { return os.Chmod(dir, 0o777) },
		"the group writes":           func() error { return os.Chmod(dir, 0o775) },
		"others read the token":      func() error { return os.Chmod(tok, 0o644) },
		"the group writes the token": func() error { return os.Chmod(tok, 0o660) },
		"a linked token":             func() error { return errors.Join(os.Rename(tok, tok+"2"), os.Symlink(tok+"2", tok)) },
		"no token":                   func() error { return os.Remove(tok) },
		"a token of nothing":         func() error { return os.WriteFile(tok, []byte("short"), 0o600) },
		"another machine": func() error {
			return os.WriteFile(filepath.Join(dir, connectURL), []byte("https://192.0.2.1:1"), 0o644)
		},
		"no TLS": func() error {
			return os.WriteFile(filepath.Join(dir, connectURL), []byte("http://127.0.0.1:1"), 0o644)
		},
		"no certificate": func() error { return os.WriteFile(filepath.Join(dir, connectCert), []byte("x"), 0o644) },
		"no directory":   func() error { return os.Rename(dir, dir+"2") },
	}
	if os.Getuid() == 0 {
		changes["another user's directory"] = func() error { return os.Chown(dir, 65534, 65534) }
		changes["another user's token"] = func() error { return os.Chown(tok, 65534, 65534) }
	}
	for name, change := range changes {
		_ = os.Rename(dir+"2", dir)
		_ = os.Chown(dir, os.Getuid(), os.Getgid())
		write()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := Connect(dir); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
	_ = os.RemoveAll(dir + "2")
}

// testCertificate is some certificate; nothing holds its key.
const testCertificate = `-----BEGIN CERTIFICATE-----
MIHuMIGVoAMCAQICAQEwCgYIKoZIzj0EAwIwADAgFw03MDAxMDEwMDAwMDBaGA85
OTk5MTIzMTIzNTk1OVowADBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEkiTPgX
7MIazS7CylyW/70dC6/EYCmpQ87/72FRH+npC2m/l6VVsNZNslTFkhzfhDXJ8tPb
K4e+O+QlcRjyVzswCgYIKoZIzj0EAwIDSAAwRQIhAO2e1v3EjPL53yN+QldrHY/v
SCtfdlVkDNdmD6YYAjNuAiBn8SP8i3MNOFXVPrzjMfPCH1ZWrE2OEBgsrNC9EsQ8
gg==
-----END CERTIFICATE-----
`
