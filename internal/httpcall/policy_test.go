package httpcall

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
)

func policy(t testing.TB, s Spec) *Policy {
	t.Helper()
	p, err := NewPolicy(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSpecs(t *testing.T) {
	ok := Spec{Hosts: []string{"api.example.com:443"}}
	for _, c := range []struct {
		at     string
		change func(*Spec)
	}{
		{"/hosts", func(s *Spec) { s.Hosts = nil }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "api.example.com" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "api.example.com:0" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "api.example.com:0443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "api.example.com:65536" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "*.example.com:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "API.example.com:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "api.example.com.:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "ftp://api.example.com:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "user@api.example.com:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "bücher.example:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "2130706433:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "0x7f.0.0.1:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "127.1:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "::1:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "[127.0.0.1]:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "[::ffff:127.0.0.1]:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "[fe80::1%eth0]:443" }},
		{"/hosts/0", func(s *Spec) { s.Hosts[0] = "[0:0:0:0:0:0:0:1]:443" }},
		{"/hosts/1", func(s *Spec) { s.Hosts = []string{"a.example:443", "a.example:443"} }},
		{"/hosts/1", func(s *Spec) { s.Hosts = []string{"a.example:443", "https://a.example:443"} }},
		{"/methods/0", func(s *Spec) { s.Methods = []string{"get"} }},
		{"/methods/0", func(s *Spec) { s.Methods = []string{"CONNECT"} }},
		{"/methods/1", func(s *Spec) { s.Methods = []string{"GET", "GET"} }},
		{"/addresses/0", func(s *Spec) { s.Addresses = []string{"10.0.0.1"} }},
		{"/addresses/0", func(s *Spec) { s.Addresses = []string{"10.0.0.1/8"} }},
		{"/addresses/0", func(s *Spec) { s.Addresses = []string{"::ffff:10.0.0.0/104"} }},
		{"/response_headers/0", func(s *Spec) { s.ResponseHeaders = []string{"Set-Cookie"} }},
		{"/response_headers/0", func(s *Spec) { s.ResponseHeaders = []string{"a b"} }},
		{"/max_bytes", func(s *Spec) { s.MaxBytes = MaxBytes + 1 }},
		{"/timeout_ms", func(s *Spec) { s.TimeoutMS = -1 }},
	} {
		s := Spec{Hosts: []string{ok.Hosts[0]}}
		c.change(&s)
		_, err := NewPolicy(s)
		var e *SpecError
		if !errors.As(err, &e) || e.Pointer != c.at {
			t.Errorf("%+v: %v, want one at %s", s, err, c.at)
		}
	}
	policy(t, Spec{Hosts: []string{"xn--bcher-kva.example:443", "http://127.0.0.1:8080", "[::1]:443", "a-1.b:1"},
		Addresses: []string{"10.0.0.0/8", "fd00::/8"}, Methods: []string{"POST"}})
}

func TestAddresses(t *testing.T) {
	for a, want := range map[string]bool{
		"8.8.8.8": true, "93.184.216.34": true, "2606:2800:220:1::1": true, "172.32.0.1": true, "100.128.0.1": true,
		"192.0.1.1": true,
		"127.0.0.1": false, "127.255.255.254": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.1.1":     false,
		"169.254.169.254": false, "100.64.0.1": false, "100.100.100.200": false, "0.0.0.0": false, "0.1.2.3": false,
		"224.0.0.1": false, "239.1.1.1": false,
		"255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false, "192.0.0.8": false, "192.0.2.1": false,
		"198.51.100.1": false, "203.0.113.1": false,
		"::1": false, "::": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:8.8.8.8": true,
		"::127.0.0.1":     false,
		"64:ff9b::7f00:1": false, "64:ff9b::808:808": false, "64:ff9b:1::1": false, "2002:7f00:1::1": false, "2001::1": false,
		"2001:db8::1": false,
		"fe80::1":     false, "fe80::1%eth0": false, "2606:4700::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false,
		"ff02::1": false, "100::1": false,
		"3fff::1": false, "5f00::1": false, "4000::1": false,
	} {
		if got := public(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s counts as public: %v", a, got)
		}
	}
	p := policy(t,
		Spec{Hosts: []string{"a.example:443", "169.254.169.254:443"}, Addresses: []string{"10.1.0.0/16", "fd12::/32"}})
	for _, c := range []struct {
		host, addr string
		want       bool
	}{
		{"a.example", "10.1.2.3", true}, {"a.example", "10.2.0.1", false}, {"a.example", "fd12::1", true},
		{"a.example", "fd13::1", false},
		{"a.example", "::ffff:10.1.2.3", true}, {"a.example", "169.254.169.254", false},
		{"169.254.169.254", "169.254.169.254", true},
		{"a.example", "fd12::1%eth0", false},
	} {
		if got := p.reachable(c.host, netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s at %s: %v", c.host, c.addr, got)
		}
	}
}

// tricks are URLs that some program somewhere reads as a host which the policy lists,
// or as one inside.
var tricks = []string{
	"http://api.example.com/", "https://api.example.com:444/", "https://api.example.com./",
	"https://api.example.com.evil.example/", "https://evil.example/",
	"https://user@api.example.com/", "https://user:pw@api.example.com/", "https://api.example.com@evil.example/",
	"https://evil.example#@api.example.com/",
	"https://evil.example\\@api.example.com/", "https://api.example.com\\.evil.example/", "https:\\\\api.example.com/",
	"https:api.example.com", "//api.example.com/",
	"https:///api.example.com/", "https://api%2eexample.com/", "https://api.example.com%00.evil.example/",
	"https://api.example.com%20/", "https://api。example。com/",
	"https://ａpi.example.com/", "https://api.exam\u00adple.com/", "https://api.example.com:/",
	"https://api.example.com:0443/", "https://api.example.com:443443/", "https://api.example.com:-1/",
	"https://127.0.0.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0177.0.0.1/",
	"https://127.1/", "https://127.0.0.1./",
	"https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[64:ff9b::7f00:1]/",
	"https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[::1/",
	"https://169.254.169.254/latest/meta-data/", "https://localhost/", "https://api.example.com/#x",
	"https://api.example.com/ x", "https://api.example.com/\r\nHost: evil.example",
	"https://api.example.com/\t", "https://api.example.com\n/", "", "file:///etc/passwd", "gopher://api.example.com:443/",
	"data:text/plain,x", "ftp://api.example.com/", "HTTPS:", "https://",
}

func TestTricksWithURLs(t *testing.T) {
	p := policy(t, Spec{Hosts: []string{"api.example.com:443"}})
	for _, u := range tricks {
		raw, err := json.Marshal(map[string]string{"url": u})
		if err != nil {
			t.Fatal(err)
		}
		if r, _, err := p.parse(raw); err == nil {
			t.Errorf("%q is sent to %+v", u, r.to)
		}
	}
	for _, u := range []string{"https://api.example.com", "https://api.example.com:443/a?b=c",
		"HTTPS://API.Example.COM/x%2fy", "https://api.example.com/?u=http://evil.example/@"} {
		raw, _ := json.Marshal(map[string]string{"url": u})
		if _, _, err := p.parse(raw); err != nil {
			t.Errorf("%q: %v", u, err)
		}
	}
}

func TestRequestDocuments(t *testing.T) {
	p := policy(t, Spec{Hosts: []string{"a.example:443"}, Methods: []string{"GET", "POST"}, MaxBytes: 10})
	for _, c := range []struct {
		doc  string
		want hostcalls.Errno
	}{
		{`{"url":"https://a.example/"}`, 0},
		{`{"url":"https://a.example/","method":"POST","body":"0123456789","headers":{"Content-Type":"text/plain","x-api-key":"k"}}`, 0},
		{`{"url":"https://a.example/","method":"POST","body_base64":"AAEC"}`, 0},
		{`{"url":"https://a.example/","method":"POST","body":"01234567890"}`, hostcalls.TooLarge},
		{`{"url":"https://a.example/","method":"POST","body":"a","body_base64":"AA=="}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","method":"POST","body_base64":"A"}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","body":"a"}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","method":"PUT"}`, hostcalls.Denied},
		{`{"url":"https://a.example/","method":"post"}`, hostcalls.Denied},
		{`{"url":"https://b.example/"}`, hostcalls.Denied},
		{`{"url":"https://a.example/","timeout_ms":-1}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","timeout_ms":25001}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","x":1}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","url":"https://a.example/"}`, hostcalls.Invalid},
		{`{"URL":"https://a.example/"}`, hostcalls.Invalid},
		{`{"url":7}`, hostcalls.Invalid},
		{`{}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","headers":{"Host":"b.example"}}`, hostcalls.Denied},
		{`{"url":"https://a.example/","headers":{"Content-Length":"0"}}`, hostcalls.Denied},
		{`{"url":"https://a.example/","headers":{"transfer-encoding":"chunked"}}`, hostcalls.Denied},
		{`{"url":"https://a.example/","headers":{"Proxy-Anything":"1"}}`, hostcalls.Denied},
		{`{"url":"https://a.example/","headers":{"X-Forwarded-For":"127.0.0.1"}}`, hostcalls.Denied},
		{`{"url":"https://a.example/","headers":{"a":"b\r\nhost: c"}}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","headers":{"a b":"c"}}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","headers":{"":"c"}}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","headers":{"a":"ü"}}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","headers":{"a":"","A":"x"}}`, hostcalls.Invalid},
		{`{"url":"https://a.example/","headers":{"a":"` + strings.Repeat("x", maxHeaderBytes) + `"}}`, hostcalls.TooLarge},
		{`{"url":"https://a.example/` + strings.Repeat("x", maxURL) + `"}`, hostcalls.Invalid},
	} {
		_, _, err := p.parse(jsontext.Value(c.doc))
		var r *hostcalls.Refusal
		if c.want == 0 && err != nil || c.want != 0 && (!errors.As(err, &r) || r.Errno != c.want || !r.Reply.IsValid()) {
			t.Errorf("%.100s: %v, want %v", c.doc, err, c.want)
		}
	}
}

// Whatever the document says, what would be sent goes to a listed host in its one
// spelling, with nothing of the connection's own in the headers.
func FuzzPrepare(f *testing.F) {
	for _, u := range tricks {
		raw, _ := json.Marshal(map[string]any{"url": strings.ToValidUTF8(u, ""), "headers": map[string]string{"a": "b"}})
		f.Add(raw)
	}
	f.Add([]byte(`{"url":"https://api.example.com/","method":"POST","body":"a","headers":{"Host":"x"}}`))
	c := New(policy(f,
		Spec{Hosts: []string{"api.example.com:443", "http://127.0.0.1:8080"}, Methods: []string{"GET", "POST"}}), Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		call, err := c.Prepare(raw)
		if err != nil {
			var r *hostcalls.Refusal
			if !errors.As(err, &r) {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		u := call.req.url
		if host := strings.ToLower(u.Host); !(u.Scheme == "https" &&
			(host == "api.example.com" || host == "api.example.com:443") || u.Scheme == "http" && host == "127.0.0.1:8080") ||
			u.User != nil {
			t.Errorf("goes to %s", u)
		}
		for name := range call.req.headers {
			if ownHeader(strings.ToLower(name)) {
				t.Errorf("with the header %s", name)
			}
		}
		if !call.Record.IsValid() {
			t.Errorf("record %s", call.Record)
		}
	})
}
