package httpcall

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// names is a resolver that gives one answer after the other; the last one stays.
type names struct {
	answers map[string][]string
	asked   int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.asked++
	list := n.answers[host]
	if len(list) == 0 {
		return nil, errors.New("no such host")
	}
	if len(list) > 1 {
		n.answers[host] = list[1:]
	}
	var out []netip.Addr
	for a := range strings.SplitSeq(list[0], ",") {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// server is a TLS server for example.com and 127.0.0.1.
func server(t *testing.T, h http.HandlerFunc) (port string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return port, roots
}

func send(t *testing.T, c *Client, doc string) (Result, hostcalls.Errno) {
	t.Helper()
	call, err := c.Prepare(jsontext.Value(doc))
	var res Result
	if err == nil {
		res, err = call.Send(t.Context())
	}
	var r *hostcalls.Refusal
	if errors.As(err, &r) {
		return res, r.Errno
	}
	if err != nil {
		t.Fatal(err)
	}
	return res, 0
}

var loopback = []string{"127.0.0.0/8"}

func TestRequestAndAnswer(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no listener there
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	port, roots := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Set-Cookie", "s=1")
		w.Header().Set("X-Request-Id", "7")
		w.Header().Set("Server", "secret")
		w.WriteHeader(201)
		fmt.Fprintf(w, "%s %s %s %s %s|%s", r.Method, r.Host, r.URL, r.Header.Get("X-Key"), r.Header.Get("Accept-Encoding"),
			body)
	})
	n := &names{answers: map[string][]string{"example.com": {"127.0.0.1"}}}
	c := New(policy(t,
		Spec{Hosts: []string{"example.com:" + port}, Methods: []string{"POST"}, Addresses: loopback,
			ResponseHeaders: []string{"X-Request-Id"}}), Options{Resolver: n, Roots: roots})
	res, e := send(t, c, `{"method":"POST","url":"https://example.com:`+port+
		`/a?b=c","headers":{"x-key":"k"},"body":"hello"}`)
	want := `"body":"POST example.com:` + port + ` /a?b=c k |hello"`
	if e != 0 || res.Outcome != OK || !strings.Contains(string(res.Reply), want) ||
		!strings.Contains(string(res.Reply), `"status":201`) || n.asked != 1 {
		t.Fatalf("%d %+v, want %s", e, string(res.Reply), want)
	}
	if s := string(res.Reply); !strings.Contains(s, `"x-request-id":"7"`) || strings.Contains(s, "cookie") ||
		strings.Contains(s, "server") {
		t.Errorf("headers: %s", s)
	}
	if s := string(res.Summary); s != fmt.Sprintf(`{"status":201,"bytes":%d,"redirects":0,"address":"127.0.0.1"}`,
		len("POST example.com: /a?b=c k |hello")+len(port)) {
		t.Errorf("summary %s", s)
	}
	call, _ := c.Prepare(jsontext.Value(`{"method":"POST","url":"https://example.com:` + port +
		`/","headers":{"x-key":"k"},"body":"hello"}`))
	if v, _ := phases.GetString(call.Record, "/body"); v != "hello" {
		t.Errorf("record %s", call.Record)
	}
}

func TestAddressesInside(t *testing.T) {
	port, roots := server(t, func(w http.ResponseWriter, r *http.Request) { t.Error("reached") })
	var dialled []string
	for _, a := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.1.1",
		"fd00::1", "fe80::1", "64:ff9b::7f00:1", "0.0.0.0", "93.184.216.34,127.0.0.1", "127.0.0.1,93.184.216.34"} {
		n := &names{answers: map[string][]string{"example.com": {a}}}
		c := New(policy(t, Spec{Hosts: []string{"example.com:" + port}}),
			Options{Resolver: n, Roots: roots, Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
				dialled = append(dialled, addr)
				return nil, errors.New("no")
			}})
		if _, e := send(t, c, `{"url":"https://example.com:`+port+`/"}`); e != hostcalls.Denied || len(dialled) != 0 {
			t.Errorf("%s: %d, dialled %v", a, e, dialled)
		}
	}
}

// A name that answers a public address first and one inside after that: the
// client dials the address that it checked, and checks a redirect anew.
func TestRebinding(t *testing.T) {
	port, roots := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			t.Error("the second answer was dialled")
		}
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	n := &names{answers: map[string][]string{"example.com": {"93.184.216.34", "127.0.0.1"}}}
	var dialled []string
	c := New(policy(t, Spec{Hosts: []string{"example.com:" + port}}),
		Options{Resolver: n, Roots: roots, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled = append(dialled, addr)
			return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port) // the public server, as far as the test has one
		}})
	_, e := send(t, c, `{"url":"https://example.com:`+port+`/"}`)
	if e != hostcalls.Denied || len(dialled) != 1 || dialled[0] != "93.184.216.34:"+port || n.asked != 2 {
		t.Errorf("%d, dialled %v, asked %d times", e, dialled, n.asked)
	}
}

func TestRedirects(t *testing.T) {
	type seen struct{ method, key, accept, body string }
	var last seen
	var second string
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Error("plain HTTP was used")
	}))
	defer plain.Close()
	hops := 0
	note := func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/chain") {
			hops++
		}
		b, _ := io.ReadAll(r.Body)
		last = seen{r.Method, r.Header.Get("X-Key"), r.Header.Get("Accept"), string(b)}
	}
	other, roots := server(t, func(w http.ResponseWriter, r *http.Request) { note(r); io.WriteString(w, "other") })
	port, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch p := r.URL.Path; {
		case p == "/end":
			io.WriteString(w, "end")
		case p == "/no-location":
			w.WriteHeader(302)
		case strings.HasPrefix(p, "/chain"):
			http.Redirect(w, r, p+"x", http.StatusFound)
		default:
			code, to, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
			n := 0
			fmt.Sscan(code, &n)
			w.Header().Set("Location",
				map[string]string{"end": "/end", "other": "https://example.com:" + other + "/", "plain": plain.URL,
					"unlisted": "https://evil.example/",
					"user":     "https://u:p@example.com:" + second + "/end", "ip": "https://[::ffff:127.0.0.1]:" + second + "/end",
					"scheme": "file:///etc/passwd", "bad": "https://%"}[to])
			w.WriteHeader(n)
		}
	})
	second = port
	all := roots // httptest's servers share one certificate
	n := &names{answers: map[string][]string{"example.com": {"127.0.0.1"}, "evil.example": {"127.0.0.1"}}}
	hosts := []string{"example.com:" + port, "example.com:" + other, plain.URL}
	c := New(policy(t, Spec{Hosts: hosts, Methods: []string{"GET", "POST"}, Addresses: loopback}),
		Options{Resolver: n, Roots: all})
	for _, d := range []struct {
		method, path, body string
		errno              hostcalls.Errno
		want               seen
	}{
		{"GET", "/302/end", "end", 0, seen{"GET", "k", "a", ""}},
		{"POST", "/302/end", "end", 0, seen{"GET", "k", "a", ""}},
		{"POST", "/303/end", "end", 0, seen{"GET", "k", "a", ""}},
		{"POST", "/307/end", "end", 0, seen{"POST", "k", "a", "b"}},
		{"POST", "/308/other", "other", 0, seen{"POST", "", "a", "b"}},
		{"GET", "/301/other", "other", 0, seen{"GET", "", "a", ""}},
		{"GET", "/no-location", "", 0, seen{"GET", "k", "a", ""}},
		{"GET", "/302/plain", "", hostcalls.Denied, seen{"GET", "k", "a", ""}},
		{"GET", "/302/unlisted", "", hostcalls.Denied, seen{"GET", "k", "a", ""}},
		{"GET", "/302/user", "", hostcalls.Denied, seen{"GET", "k", "a", ""}},
		{"GET", "/302/ip", "", hostcalls.Denied, seen{"GET", "k", "a", ""}},
		{"GET", "/302/scheme", "", hostcalls.Denied, seen{"GET", "k", "a", ""}},
		{"GET", "/302/bad", "", hostcalls.Denied, seen{"GET", "k", "a", ""}},
		{"GET", "/chain", "", hostcalls.Denied, seen{"GET", "k", "a", ""}},
	} {
		body := ""
		if d.method == "POST" {
			body = `,"body":"b"`
		}
		res, e := send(t, c, `{"method":"`+d.method+`","url":"https://example.com:`+port+d.path+
			`","headers":{"x-key":"k","accept":"a"}`+body+`}`)
		got, _ := phases.GetString(res.Reply, "/body")
		if e != d.errno || e == 0 && got != d.body || last != d.want {
			t.Errorf("%s %s: %d %s, the last server saw %+v", d.method, d.path, e, res.Reply, last)
		}
		if d.path == "/chain" && hops != maxRedirects+1 {
			t.Errorf("%d requests in a chain of redirects", hops)
		}
	}
	// A method that the redirect would need is not there.
	c = New(policy(t, Spec{Hosts: hosts, Methods: []string{"POST"}, Addresses: loopback}),
		Options{Resolver: n, Roots: all})
	if _, e := send(t, c, `{"method":"POST","url":"https://example.com:`+port+`/303/end"}`); e != hostcalls.Denied {
		t.Errorf("%d", e)
	}
}

func TestServersThatMisbehave(t *testing.T) {
	port, roots := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Write(make([]byte, 101))
		case "/exact":
			w.Write([]byte(strings.Repeat("x", 100)))
		case "/bytes":
			w.Write([]byte{0xff, 0xfe})
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("not gzip"))
		case "/short":
			w.Header().Set("Content-Length", "50")
			w.Write([]byte("x"))
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Second):
			}
		case "/drip":
			for range 100 {
				w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		case "/headers":
			w.Header().Set("X-Long", strings.Repeat("x", 100<<10))
		}
	})
	n := &names{answers: map[string][]string{"example.com": {"127.0.0.1"}, "other.example": {"127.0.0.1"}}}
	spec := Spec{Hosts: []string{"example.com:" + port, "other.example:" + port, "gone.example:" + port, "example.com:1"},
		Addresses: loopback, MaxBytes: 100, TimeoutMS: 300}
	c := New(policy(t, spec), Options{Resolver: n, Roots: roots})
	for _, d := range []struct {
		url, want string
		errno     hostcalls.Errno
	}{
		{"https://example.com:" + port + "/large", "", hostcalls.TooLarge},
		{"https://example.com:" + port + "/exact", `"outcome":"ok"`, 0},
		{"https://example.com:" + port + "/bytes", `"body_base64":"//4="`, 0},
		{"https://example.com:" + port + "/gzip", `"body":"not gzip"`, 0},
		{"https://example.com:" + port + "/short", `{"error":"the answer ended too early","outcome":"error"}`, 0},
		{"https://example.com:" + port + "/slow", `{"error":"no answer in time","outcome":"timeout"}`, 0},
		{"https://example.com:" + port + "/drip", `{"error":"no answer in time","outcome":"timeout"}`, 0},
		{"https://example.com:" + port + "/headers", `{"error":"the server did not answer the request","outcome":"error"}`,
			0},
		{"https://other.example:" + port + "/exact",
			`{"error":"the server's certificate is not valid for the host","outcome":"error"}`, 0},
		{"https://gone.example:" + port + "/", `{"error":"the host's address could not be found","outcome":"error"}`, 0},
		{"https://example.com:1/", `{"error":"the host could not be reached","outcome":"error"}`, 0},
	} {
		from := time.Now()
		res, e := send(t, c, `{"url":"`+d.url+`"}`)
		if e != d.errno || !strings.Contains(string(res.Reply), d.want) || time.Since(from) > 5*time.Second {
			t.Errorf("%s: %d %s after %v", d.url, e, res.Reply, time.Since(from))
		}
	}
}

// A host that the operator lists by its address may be inside, over plain HTTP, too.
func TestListedAddress(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hi") }))
	defer s.Close()
	n := &names{}
	c := New(policy(t, Spec{Hosts: []string{s.URL}}), Options{Resolver: n})
	if res, e := send(t, c, `{"url":"`+s.URL+`/"}`); e != 0 || !strings.Contains(string(res.Reply), `"body":"hi"`) ||
		n.asked != 0 {
		t.Errorf("%d %s", e, res.Reply)
	}
}
