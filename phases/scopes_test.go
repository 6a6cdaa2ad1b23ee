package phases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// universe is a small world in which membership can be tried one by one. It has
// values below and beside every pattern that the generators draw, so that a
// wildcard is never the same as the sum of the listed values.
type universe struct {
	kind     ScopeKind
	patterns []string
	values   []string
	allows   func(Scope, string) bool
}

func universes() []universe {
	var paths, pathPatterns []string
	for _, p := range []string{"/", "/a", "/b", "/ab", "/z", "/a/a", "/a/b", "/a/z", "/a/ab", "/a/b/c", "/a/b/c/z",
		"/a/b/z", "/b/a", "/b/z", "/z/z", "/a/a/z", "/ab/z"} {
		paths = append(paths, p)
	}
	for _, p := range []string{"/a", "/b", "/ab", "/a/a", "/a/b", "/a/b/c"} {
		pathPatterns = append(pathPatterns, p, p+"/**")
	}
	pathPatterns = append(pathPatterns, "/", "*", "/**")

	var hosts, netPatterns []string
	for _, h := range []string{"a", "z", "a.x", "b.x", "z.x", "c.a.x", "z.a.x", "x", "10.0.0.1", "[::1]",
		"[2001:db8::1]"} {
		for _, port := range []int{1, 79, 80, 81, 443, 444, 65535} {
			hosts = append(hosts, fmt.Sprintf("%s|%d", h, port))
		}
	}
	for _, h := range []string{"a", "a.x", "B.x", "c.a.x", "*.x", "*.a.x", "*", "10.0.0.1", "[::1]", "x."} {
		for _, port := range []string{"80", "443", "*", "80-443", "1-80", "81-444", "79-79", "443-65535"} {
			netPatterns = append(netPatterns, h+":"+port)
		}
	}
	netPatterns = append(netPatterns, "*")

	tools := []string{"a", "z", "n:a", "n:z", "n:m", "n:m:a", "n:m:z", "nm:a", "n", "m:a"}
	toolPatterns := []string{"a", "n:a", "n:m", "n:m:a", "n:*", "n:m:*", "nm:*", "n", "*"}

	return []universe{
		{ScopePath, pathPatterns, paths, Scope.allowsPath},
		{ScopeNet, netPatterns, hosts, func(s Scope, v string) bool {
			host, port, _ := strings.Cut(v, "|")
			var n int
			fmt.Sscan(port, &n)
			return s.allowsHost(host, n)
		}},
		{ScopeTool, toolPatterns, tools, Scope.AllowsTool},
	}
}

// scope draws a scope: now and then unrestricted (nil), empty, or with a pattern that is not valid.
func (u universe) scope() *rapid.Generator[Scope] {
	return rapid.Custom(func(t *rapid.T) Scope {
		if rapid.IntRange(0, 9).Draw(t, "nil") == 0 {
			return nil
		}
		s := rapid.SliceOfN(rapid.SampledFrom(u.patterns), 0, 5).Draw(t, "patterns")
		if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			s = append(s, "/../**", "a b", "*x")
		}
		return slices.Clip(Scope(s))
	})
}

// member is the oracle: it looks at one value and one pattern at a time, with
// nothing of the algebra.
func (u universe) member(s Scope, v string) bool {
	if s == nil {
		return true
	}
	return slices.ContainsFunc(s, func(p string) bool {
		if p == "*" {
			return true
		}
		switch u.kind {
		case ScopePath:
			if strings.Contains(p, "..") || p[0] != '/' {
				return false
			}
			dir, below := strings.CutSuffix(p, "/**")
			return v == p || below && (v == dir || strings.HasPrefix(v, dir+"/"))
		case ScopeTool:
			if strings.ContainsAny(p, " /") || p == "*x" {
				return false
			}
			ns, below := strings.CutSuffix(p, "*")
			return v == p || below && strings.HasPrefix(v, ns)
		default:
			i := strings.LastIndexByte(p, ':')
			if i < 0 {
				return false
			}
			h, ps := strings.TrimSuffix(strings.ToLower(p[:i]), "."), p[i+1:]
			host, port, _ := strings.Cut(v, "|")
			suffix, below := strings.CutPrefix(h, "*")
			if !(h == "*" || h == host || below && strings.HasSuffix(host, suffix)) {
				return false
			}
			var low, high, n int
			fmt.Sscan(port, &n)
			if ps == "*" {
				return true
			}
			if k, _ := fmt.Sscanf(ps, "%d-%d", &low, &high); k == 1 {
				high = low
			}
			return low <= n && n <= high
		}
	})
}

func TestScopeAlgebraAgainstOracle(t *testing.T) {
	for _, u := range universes() {
		t.Run(string(u.kind), func(t *testing.T) {
			valid := func(s Scope) bool { return s.Validate(u.kind) == nil }
			set := func(s Scope) string {
				var b strings.Builder
				for _, v := range u.values {
					if u.member(s, v) {
						b.WriteByte('1')
					} else {
						b.WriteByte('0')
					}
				}
				return b.String()
			}
			subset := func(a, b string) bool { // a within b
				for i := range a {
					if a[i] == '1' && b[i] == '0' {
						return false
					}
				}
				return true
			}
			rapid.Check(t, func(t *rapid.T) {
				a, b, c := u.scope().Draw(t, "a"), u.scope().Draw(t, "b"), u.scope().Draw(t, "c")
				for _, v := range u.values {
					if got, want := u.allows(a, v), u.member(a, v); got != want {
						t.Fatalf("%q allows %s: %v, want %v", a, v, got, want)
					}
				}
				n := a.Normalize(u.kind)
				if set(n) != set(a) || n == nil || !slices.IsSorted(n) {
					t.Fatalf("normal form of %q is %q", a, n)
				}
				if again := n.Normalize(u.kind); !slices.Equal(again, n) || n.Validate(u.kind) != nil {
					t.Fatalf("normal form of %q is %q, of that %q", a, n, again)
				}
				i := a.Intersect(u.kind, b)
				for k, v := range u.values {
					if (set(i)[k] == '1') != (u.member(a, v) && u.member(b, v)) {
						t.Fatalf("%q and %q intersect in %q: wrong about %s", a, b, i, v)
					}
				}
				if got := b.Intersect(u.kind, a); !slices.Equal(got, i) {
					t.Fatalf("not commutative: %q, %q", i, got)
				}
				if got := i.Intersect(u.kind, c); !slices.Equal(got, a.Intersect(u.kind, b.Intersect(u.kind, c))) {
					t.Fatalf("not associative: %q", got)
				}
				if got := a.Intersect(u.kind, a); !slices.Equal(got, n) {
					t.Fatalf("not idempotent: %q, %q", n, got)
				}
				if !a.Contains(u.kind, i) || !b.Contains(u.kind, i) {
					t.Fatalf("%q and %q do not contain their intersection %q", a, b, i)
				}
				if got, want := b.Contains(u.kind, a), subset(set(a), set(b)) && valid(a); got != want {
					t.Fatalf("%q contains %q: %v, want %v", b, a, got, want)
				}
				if got, want := a.Equal(u.kind, b), set(a) == set(b); got != want {
					t.Fatalf("%q equals %q: %v, want %v (%q, %q)", a, b, got, want, n, b.Normalize(u.kind))
				}
			})
		})
	}
}

func TestScopeValidate(t *testing.T) {
	for k, cases := range map[ScopeKind]map[string]bool{
		ScopePath: {
			"*": true, "/**": true, "/": true, "/a": true, "/a/**": true, "/a b/[id].tsx": true, "/a/...": true,
			"": false, "a": false, "a/**": false, "**": false, "/a/": false, "/a//b": false, "//**": false, "/a/../b": false,
			"/a/..": false,
			"/./a":  false, "/a/*": false, "/a/*.go": false, "/a**": false, "/**/b": false, "/a\x00": false, "/\xff": false,
			"~/a": false,
			"/" + strings.Repeat("a", maxPatternBytes): false,
		},
		ScopeNet: {
			"*": true, "*:*": true, "*:443": true, "a.example:443": true, "*.example:1-65535": true, "10.0.0.1:80": true,
			"[::1]:80": true,
			"":         false, "a.example": false, "a:0": false, "a:65536": false, "a:080": false, "a:2-1": false, "a:": false,
			":80": false, "a:http": false,
			"*.*:80": false, "a.*:80": false, "*a:80": false, "a..b:80": false, "::1:80": false, "[::1]": false,
			"[::1%eth0]:80": false,
			"https://a:80":  false, "a/b:80": false, "ü.example:80": false, "-a:80": false, "0x7f.1:80": false,
			"1.2.3:80":      false,
			"2130706433:80": false,
			"*.1:80":        false, "*.10.0.0.1:80": false, "a_b:80": true, "A.Example.:80": true, "a@b:80": false,
			"0177.0.0.1:80": false,
		},
		ScopeTool: {
			"*": true, "exec": true, "mcp:*": true, "mcp:s:*": true, "mcp:s:t": true,
			"": false, ":*": false, "a*": false, "*:a": false, "a:": false, "a::b": false, "a b": false, "a\n": false,
			"mcp:*:t": false,
		},
		"other": {"*": false},
	} {
		for p, ok := range cases {
			err := Scope{p}.Validate(k)
			if (err == nil) != ok || err != nil && !errors.Is(err, ErrScope) {
				t.Errorf("%s %q: %v", k, p, err)
			}
			if !ok && len(Scope{p}.Normalize(k)) != 0 {
				t.Errorf("%s %q is not valid, and allows something", k, p)
			}
		}
	}
	many := slices.Repeat(Scope{"/a"}, maxScopePatterns+1)
	if err := many.Validate(ScopePath); !errors.Is(err, ErrScope) {
		t.Errorf("too many patterns: %v", err)
	}
	err := Scopes{Net: Scope{"a:1", "b"}}.Validate()
	var s *scopeError
	if !errors.As(err, &s) || s.pointer != "/net/1" {
		t.Errorf("Scopes.Validate = %v", err)
	}
}

func TestScopeMembersThatAreNone(t *testing.T) {
	var all Scope
	for _, p := range []string{"", "a", "/a/../b", "/a//b", "/a/", "/a\x00", "/./a", "../a"} {
		if all.allowsPath(p) {
			t.Errorf("an unrestricted scope allows the path %q", p)
		}
	}
	for _, h := range []string{"", "a b", "0x7f.1", "a..b", "*", "*.a", "a/b"} {
		if all.allowsHost(h, 80) {
			t.Errorf("an unrestricted scope allows the host %q", h)
		}
	}
	if all.allowsHost("a", 0) || all.allowsHost("a", 65536) {
		t.Error("an unrestricted scope allows a port that is none")
	}
	nothing := Scope{}
	if nothing.allowsPath("/a") || nothing.allowsHost("a", 80) || nothing.AllowsTool("a") {
		t.Error("an empty scope allows something")
	}
	v4 := Scope{"1.2.3.4:80"}
	if !v4.allowsHost("::ffff:1.2.3.4", 80) || !v4.allowsHost("[::ffff:1.2.3.4]", 80) {
		t.Error("an IPv4 address in IPv6 is another address")
	}
	if !(Scope{"[::1]:80"}).allowsHost("0:0:0:0:0:0:0:1", 80) {
		t.Error("a spelling of an IPv6 address is another address")
	}
	if (Scope{"*.example:80"}).allowsHost("example", 80) {
		t.Error("*.example covers example itself")
	}
	if !(Scope{"/a/**"}).allowsPath("/a") {
		t.Error("DIR/** does not cover DIR")
	}
}

// Many overlapping ranges must not multiply.
func TestScopeIntersectStaysSmall(t *testing.T) {
	var a, b Scope
	for i := range maxScopePatterns {
		a = append(a, fmt.Sprintf("*:%d-%d", 1+i, 20000+i))
		b = append(b, fmt.Sprintf("*:%d-%d", 100+2*i, 30000+i))
	}
	if got := a.Intersect(ScopeNet, b); len(got) != 1 {
		t.Errorf("%d patterns", len(got))
	}
}

func TestScopesTogether(t *testing.T) {
	wide := Scopes{}
	narrow := Scopes{FSRead: Scope{"/a/**"}, FSWrite: Scope{}, Net: Scope{"a:80"}, Tools: Scope{"exec"}}
	if !wide.Contains(narrow) || narrow.Contains(wide) || wide.Equal(narrow) {
		t.Error("containment is wrong")
	}
	for name, s := range map[string]Scopes{
		"fs_read": {FSRead: Scope{"/a/b"}}, "fs_write": {FSWrite: Scope{"/a"}}, "net": {Net: Scope{"b:80"}},
		"tools": {Tools: Scope{"read"}},
	} {
		got := narrow.Intersect(s)
		if !narrow.Contains(got) || !s.Contains(got) {
			t.Errorf("%s: %+v", name, got)
		}
		if name != "fs_read" && narrow.Contains(s) {
			t.Errorf("%s: contained", name)
		}
	}
	if got := wide.Intersect(Scopes{}); !got.Equal(Scopes{FSRead: Scope{"*"}, FSWrite: Scope{"/**"}, Net: Scope{"*:*"},
		Tools: Scope{"*"}}) {
		t.Errorf("unrestricted is %+v", got)
	}
}

// TestEachScopeIsSent: a scope of one kind alone is in what goes over the wire, also one that allows nothing.
func TestEachScopeIsSent(t *testing.T) {
	for _, s := range []Scopes{
		{},
		{FSRead: Scope{"/a"}}, {FSWrite: Scope{"/a"}}, {Net: Scope{"h:1"}}, {Tools: Scope{"exec"}},
		{FSRead: Scope{}}, {FSWrite: Scope{}}, {Net: Scope{}}, {Tools: Scope{}},
	} {
		inv := sampleInvocation(PreTool)
		inv.Scopes = s
		b, err := EncodeInvocation(inv)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeInvocation(b)
		if err != nil || !back.Scopes.Equal(s) {
			t.Errorf("%+v: %+v, %v", s, back.Scopes, err)
		}
		if s.isZero() == strings.Contains(string(b), `"scopes"`) {
			t.Errorf("%+v: %s", s, b)
		}
	}
}
