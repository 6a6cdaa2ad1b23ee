package leases_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func digest(n int) string { return "sha256:" + fmt.Sprintf("%064x", n) }

// list draws a dimension: missing, empty, or a few patterns that overlap often.
func list(t *rapid.T, name string, from ...string) []string {
	if rapid.IntRange(0, 5).Draw(t, name+" missing") == 0 {
		return nil
	}
	out := []string{}
	for range rapid.IntRange(0, 4).Draw(t, name+" n") {
		out = append(out, rapid.SampledFrom(from).Draw(t, name))
	}
	return out
}

func drawScope(t *rapid.T) leases.Scope {
	return leases.Scope{
		Paths: list(t, "paths", "*", "/", "/a", "/a/**", "/a/b", "/a/b/**", "/a/bc/**", "/ä/**", "/b/c"),
		Hosts: list(t, "hosts", "*", "*:80", "h:80", "h:1-100", "*.x:*", "a.x:443", "b.a.x:400-500", "[::1]:80"),
		Tools: list(t, "tools", "*", "exec", "mcp:*", "mcp:a:*", "mcp:a:b", "write"),
		Args:  list(t, "args", "*", digest(1), digest(2), digest(3)),
	}
}

func same(a, b leases.Scope) bool { return cmp.Equal(a, b) && a.Equal(b) }

func TestScopeAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawScope(t), drawScope(t), drawScope(t)
		ab := a.Narrow(b)
		if !same(ab, b.Narrow(a)) {
			t.Fatalf("not commutative: %v, %v", ab, b.Narrow(a))
		}
		if !same(ab.Narrow(c), a.Narrow(b.Narrow(c))) {
			t.Fatal("not associative")
		}
		if !same(a.Narrow(a), a.Normalize()) {
			t.Fatal("not idempotent")
		}
		if !a.Contains(ab) || !b.Contains(ab) {
			t.Fatal("what was narrowed is not contained")
		}
		if a.Contains(b) != same(ab, b.Normalize()) {
			t.Fatal("contains and narrow disagree")
		}
		if a.Contains(b) && b.Contains(a) && !same(a.Normalize(), b.Normalize()) {
			t.Fatal("contains is not antisymmetric")
		}
		if a.Contains(b) && b.Contains(c) && !a.Contains(c) {
			t.Fatal("contains is not transitive")
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back leases.Scope
		if err := json.Unmarshal(raw, &back, json.RejectUnknownMembers(true)); err != nil || !back.Equal(a) {
			t.Fatalf("%s came back as %v: %v", raw, back, err)
		}
	})
}

func TestScopeRefuses(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"paths":["/a/../b"]}`, "/paths/0"},
		{`{"paths":["/ok","/a/.."]}`, "/paths/1"},
		{`{"paths":["relative"]}`, "/paths/0"},
		{`{"paths":["/a//b"]}`, "/paths/0"},
		{`{"paths":["/a/*/b"]}`, "/paths/0"},
		{`{"paths":["/a\u0000"]}`, "/paths/0"},
		{`{"paths":["/a\u200bb"]}`, "cannot be seen"},
		{`{"paths":["/a\u202eb"]}`, "cannot be seen"},
		{`{"paths":["/ﬁle"]}`, "look like others"},
		{`{"paths":["/ａ"]}`, "look like others"},
		{`{"paths":["/e\u0301"]}`, "look like others"},
		{`{"hosts":["h"]}`, "/hosts/0"},
		{`{"hosts":["h:0"]}`, "/hosts/0"},
		{`{"hosts":["0x7f.1:80"]}`, "/hosts/0"},
		{`{"tools":["a b"]}`, "/tools/0"},
		{`{"args":["sha256:abc"]}`, "/args/0"},
		{`{"args":["` + strings.ToUpper(digest(171)) + `"]}`, "/args/0"},
	} {
		var s leases.Scope
		if err := json.Unmarshal([]byte(c.raw), &s); err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		if err := s.Validate(); !errors.Is(err, leases.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.raw, err, c.want)
		}
	}
	for _, raw := range []string{`{"paths":null}`, `{"args":null}`, `{"path":[]}`, `{"paths":"*"}`, `{"args":{}}`} {
		var s leases.Scope
		if err := json.Unmarshal([]byte(raw), &s, json.RejectUnknownMembers(true)); err == nil {
			t.Errorf("%s: accepted", raw)
		}
	}
}

func call(tool, args string) phases.Invocation {
	return phases.Invocation{Phase: phases.PreTool, CWD: "/srv/p",
		Action: jsontext.Value(`{"tool":"` + tool + `","call_id":"c-1","args":` + args + `}`)}
}

func TestScopeCovers(t *testing.T) {
	exec := call("exec", `{"command":"ls"}`)
	this := leases.ArgsDigest(exec)
	one := leases.Scope{Paths: phases.Scope{"/srv/p/**"}}
	held := exec // by the invocation's own scopes, as tight as the lease
	held.Scopes = phases.Scopes{FSRead: one.Paths, FSWrite: one.Paths}
	for name, c := range map[string]struct {
		scope leases.Scope
		inv   phases.Invocation
		want  bool
	}{
		"a command of an invocation that is held to as much": {one, held, false},
		"file below":               {one, call("write", `{"file_path":"/srv/p/a","content":"x"}`), true},
		"relative file":            {one, call("write", `{"file_path":"a","content":"x"}`), true},
		"file elsewhere":           {one, call("write", `{"file_path":"/srv/q","content":"x"}`), false},
		"sibling":                  {one, call("write", `{"file_path":"/srv/pq","content":"x"}`), false},
		"up and elsewhere":         {one, call("write", `{"file_path":"/srv/p/../q","content":"x"}`), false},
		"up and back":              {one, call("write", `{"file_path":"/srv/p/../p/a","content":"x"}`), false},
		"another case":             {one, call("write", `{"file_path":"/SRV/p/a","content":"x"}`), false},
		"an invisible character":   {one, call("write", `{"file_path":"/srv\u200b/p/a","content":"x"}`), false},
		"a full-width letter":      {one, call("write", `{"file_path":"/srv/ｐ/a","content":"x"}`), false},
		"home":                     {one, call("write", `{"file_path":"~/a","content":"x"}`), false},
		"no path":                  {one, call("write", `{"content":"x"}`), false},
		"a command":                {one, exec, false},
		"a command, all":           {leases.Scope{}, exec, true},
		"a command, stars":         {leases.Scope{Paths: phases.Scope{"*"}, Hosts: phases.Scope{"*"}}, exec, true},
		"a command, hosts missing": {leases.Scope{Paths: phases.Scope{"*"}, Hosts: phases.Scope{"h:80"}}, exec, false},
		"this command": {leases.Scope{Paths: phases.Scope{"/srv/p/**"}, Args: leases.Digests{digest(1), this}},
			exec, true},
		"this command, other tool": {leases.Scope{Tools: phases.Scope{"write"}, Args: leases.Digests{this}}, exec, false},
		"another command":          {leases.Scope{Args: leases.Digests{this}}, call("exec", `{"command":"ls -l"}`), false},
		"no command":               {leases.Scope{Args: leases.Digests{}}, exec, false},
		"a named file elsewhere": {leases.Scope{Paths: phases.Scope{"/srv/p/**"},
			Args: leases.Digests{leases.ArgsDigest(call("write", `{"file_path":"/q"}`))}},
			call("write", `{"file_path":"/q"}`), false},
		"a tool":      {leases.Scope{Tools: phases.Scope{"exec"}}, exec, true},
		"not a tool":  {leases.Scope{Tools: phases.Scope{"write"}}, exec, false},
		"a host":      {leases.Scope{Hosts: phases.Scope{"*.x:443"}}, call("web_fetch", `{"url":"https://a.x/"}`), true},
		"not a host":  {leases.Scope{Hosts: phases.Scope{"*.x:443"}}, call("web_fetch", `{"url":"http://a.x/"}`), false},
		"mcp unknown": {one, call("mcp:a:b", `{"path":"/srv/p/a"}`), false},
	} {
		if got := c.scope.Covers(c.inv, nil); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	other := call("exec", `{ "command" : "\u006cs" }`)
	other.Action = jsontext.Value(strings.Replace(string(other.Action), "c-1", "c-2", 1))
	if leases.ArgsDigest(other) != this {
		t.Error("the same arguments in another spelling have another digest")
	}
}

func TestScopeFollowsLinks(t *testing.T) {
	s := leases.Scope{Paths: phases.Scope{"/srv/p/**"}}
	links := map[string]string{"/srv/p/out": "/etc/passwd", "/srv/in": "/srv/p/a"}
	follow := func(p string) (string, bool) {
		if p == "/srv/p/unknown" {
			return "", false
		}
		if to, ok := links[p]; ok {
			return to, true
		}
		return p, true
	}
	for path, want := range map[string]bool{"/srv/p/a": true, "/srv/p/out": false, "/srv/in": true,
		"/srv/p/unknown": false} {
		if got := s.Covers(call("read", `{"file_path":"`+path+`"}`), follow); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
