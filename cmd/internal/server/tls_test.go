package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// overTLS is a client at an address that believes the daemon of d.
func (d *daemon) overTLS(t *testing.T, addr string) *client.Client {
	t.Helper()
	cert, err := client.ReadCertificate(daemonapi.CertificatePath(d.dir))
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[client.Role]string{}
	for _, r := range client.Roles() {
		tokens[r] = d.token(t, r)
	}
	c, err := client.New(client.Options{URL: "https://" + addr, Certificate: cert, Tokens: tokens,
		Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

const toolUse = `{"session_id":"s-1","transcript_path":"/t","cwd":"/","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`

// Over TLS everything works that works on the socket, streams included, and plain HTTP is
// served on the same address, counted and told.
func TestTLS(t *testing.T) {
	d := startDaemon(t, withListener)
	c := d.overTLS(t, d.server.Addr())
	for range 3 {
		if v, err := c.Invoke(t.Context(), invocation("s", "ls")); err != nil || v.Decision != phases.Allow {
			t.Fatal(v.Decision, err)
		}
	}
	if a, err := c.Ask(t.Context(), "claude-code", "PreToolUse", []byte(toolUse)); err != nil ||
		strings.TrimSpace(a.Stdout) != "{}" {
		t.Errorf("%+v, %v", a, err)
	}
	if v, err := c.Invoke(t.Context(), invocation("s", strings.Repeat("x", 900<<10))); err != nil ||
		v.Decision != phases.Allow {
		t.Errorf("a large one: %s, %v", v.Decision, err)
	}
	seen, enough := 0, errors.New("enough")
	if err := c.Follow(t.Context(), wire.Query{}, func(phases.Event) error {
		if seen++; seen == 4 {
			return enough
		}
		return nil
	}); !errors.Is(err, enough) {
		t.Error(err)
	}
	if st, err := c.Status(t.Context()); err != nil || st.Daemon.Plain != 0 {
		t.Errorf("%+v, %v", st.Daemon, err)
	}
	if reply, _ := d.do(t,
		call{tcp: true, method: "GET", path: "/v1/status",
			header: bearer(d.token(t, client.RoleReview))}); reply.StatusCode != 200 {
		t.Errorf("plain: %d", reply.StatusCode)
	}
	if st, err := c.Status(t.Context()); err != nil || st.Daemon.Plain != 1 ||
		!strings.Contains(d.log.String(), "without TLS") {
		t.Errorf("%+v, %v", st.Daemon, err)
	}
}

func TestTLSOnly(t *testing.T) {
	d := startDaemon(t, withListener, withServer(func(o *server.Options) { o.TLSOnly = true }))
	if _, err := d.overTLS(t, d.server.Addr()).Status(t.Context()); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/healthz", "/v1/status"} {
		if reply, body := d.do(t,
			call{tcp: true, method: "GET", path: path, header: bearer(d.token(t, client.RoleReview))}); reply.StatusCode != 403 {
			t.Errorf("%s: %d %s", path, reply.StatusCode, body)
		}
	}
	if reply, _ := d.do(t, call{method: "GET", path: "/healthz"}); reply.StatusCode != 200 {
		t.Errorf("the socket: %d", reply.StatusCode)
	}
}

// eavesdropper notes every request.
type eavesdropper struct {
	mu    sync.Mutex
	heard bytes.Buffer
	addr  string
}

func (e *eavesdropper) told() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard.String()
}

// eavesdrop hands each connection to answer.
func eavesdrop(t *testing.T, addr string, answer func(e *eavesdropper, c net.Conn)) *eavesdropper {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e := &eavesdropper{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			go func() {
				defer c.Close()
				answer(e, c)
			}()
		}
	}()
	return e
}

// keep reads once and keeps that.
func (e *eavesdropper) keep(c net.Conn) (n int, err error) {
	b := make([]byte, 64<<10)
	n, err = c.Read(b)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard.Write(b[:n])
	return n, err
}

const goesOn = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"stdout\":\"{}\",\"stderr\":\"\",\"exit\":0,\"notes\":[],\"verdicts\":[]}"

// another is a certificate that says of itself what the daemon's says.
func another(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	tmpl.Subject.CommonName = "belay daemon"
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Who listens on the daemon's port while it is down, with whatever certificate, is told
// neither token nor payload, and no answer of it counts. Who only passes bytes on reads none.
func TestImpostorOnThePort(t *testing.T) {
	d := startDaemon(t, withListener)
	real := d.server.Addr()
	secret := d.token(t, client.RoleInvoke)
	cert := another(t)
	plain := func(e *eavesdropper, c net.Conn) {
		if n, _ := e.keep(c); n > 0 {
			_, _ = io.WriteString(c, goesOn)
		}
	}
	overTLS := func(e *eavesdropper, c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		if n, _ := e.keep(s); n > 0 {
			_, _ = io.WriteString(s, goesOn)
		}
	}
	relay := func(e *eavesdropper, c net.Conn) {
		to, err := net.Dial("tcp", real)
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(c, to) }()
		b := make([]byte, 64<<10)
		for {
			n, err := c.Read(b)
			e.mu.Lock()
			e.heard.Write(b[:n])
			e.mu.Unlock()
			if _, werr := to.Write(b[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		answer func(*eavesdropper, net.Conn)
		passes bool
	}{"plain HTTP": {plain, false}, "another key": {overTLS, false}, "closes": {func(*eavesdropper, net.Conn) {}, false},
		"a relay": {relay, true}} {
		e := eavesdrop(t, "127.0.0.1:0", c.answer)
		cl := d.overTLS(t, e.addr)
		a, err := cl.Ask(t.Context(), "claude-code", "PreToolUse", []byte(toolUse))
		v, verr := cl.Invoke(t.Context(), invocation("s", "ls"))
		_, herr := cl.Health(t.Context())
		if told := e.told(); strings.Contains(told, secret) || strings.Contains(told, "tool_input") ||
			strings.Contains(told, "POST") {
			t.Errorf("%s: was told %q", name, told)
		}
		if c.passes {
			// It passes the Host of another port on, and the daemon takes it for another's.
			if errors.Is(err, client.ErrPeer) || !errors.Is(err, client.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || verr == nil || herr == nil || a.Stdout != "" || v.Decision != phases.Block {
			t.Errorf("%s: %+v %v, %s %v, %v", name, a, err, v.Decision, verr, herr)
		}
		if name != "closes" && (!errors.Is(err, client.ErrPeer) || !errors.Is(verr, client.ErrSick)) {
			t.Errorf("%s: class of %v", name, err)
		}
	}
	// On the daemon's own port, after it is gone.
	cl := d.overTLS(t, real)
	d.stop(t)
	e := eavesdrop(t, real, overTLS)
	if a, err := cl.Ask(t.Context(), "claude-code", "PreToolUse", []byte(toolUse)); !errors.Is(err, client.ErrPeer) ||
		a.Stdout != "" || e.told() != "" {
		t.Errorf("%+v %v, told %q", a, err, e.told())
	}
}

// A proxy of the environment is not asked over TLS either.
func TestNoProxyOverTLS(t *testing.T) {
	d := startDaemon(t, withListener)
	e := eavesdrop(t, "127.0.0.1:0", func(e *eavesdropper, c net.Conn) { _, _ = e.keep(c) })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://"+e.addr)
	}
	if _, err := d.overTLS(t, d.server.Addr()).Status(t.Context()); err != nil || e.told() != "" {
		t.Errorf("%v, told %q", err, e.told())
	}
}

// Key and certificate are made once, kept, and refused when they are not as they should be.
func TestIdentity(t *testing.T) {
	d := startDaemon(t, withListener)
	key, crt := filepath.Join(d.dir, "keys", "tls.key"), daemonapi.CertificatePath(d.dir)
	first, err := os.ReadFile(crt)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(key); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	d.stop(t)
	open := func() error {
		s, err := server.Open(d.host, server.Options{Dir: d.dir, Listen: "127.0.0.1:0"})
		if err == nil {
			stopped, cancel := context.WithCancel(t.Context())
			cancel()
			err = s.Serve(stopped)
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(crt); !bytes.Equal(first, now) {
		t.Error("another certificate after a restart")
	}
	keep, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func() error
		ok     bool
	}{
		"no certificate":         {func() error { return os.Remove(crt) }, true},
		"no key":                 {func() error { return os.Remove(key) }, false},
		"neither":                {func() error { return errors.Join(os.Remove(key), os.Remove(crt)) }, true},
		"a key that others read": {func() error { return os.Chmod(key, 0o640) }, false},
		"no key in the file":     {func() error { return os.WriteFile(key, []byte("x"), 0o600) }, false},
		"a certificate of another's key": {func() error {
			return os.WriteFile(crt, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: another(t).Certificate[0]}),
				0o644)
		}, false},
	} {
		if err := errors.Join(os.WriteFile(key, keep, 0o600), os.Chmod(key, 0o600), os.WriteFile(crt, first, 0o644),
			c.change()); err != nil {
			t.Fatal(err)
		}
		if err := open(); (err == nil) != c.ok || err != nil && !errors.Is(err, server.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
