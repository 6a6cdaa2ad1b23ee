package hostcalls

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/internal/shell"
	"github.com/belay-hooks/belay/phases"
)

func decodeReply[T any](u turn) T {
	u.t.Helper()
	var v T
	if err := json.Unmarshal([]byte(u.reply()), &v, json.RejectUnknownMembers(true)); err != nil {
		u.t.Fatalf("%v in %s", err, u.reply())
	}
	return v
}

func TestShellParse(t *testing.T) {
	u := newTurn(t, nil)
	r := u.do("shell_parse", "sudo rm -rf / && echo ok")
	reply := decodeReply[shell.Reply](u)
	if r.Code != int64(len(u.reply())) || r.Fuel <= 0 || !reply.OK || len(reply.Commands) != 3 ||
		reply.Commands[1].Name != "rm" {
		t.Errorf("%d %+v", r.Code, reply)
	}
	u.do("shell_parse", `echo "`)
	if reply := decodeReply[shell.Reply](u); reply.OK || reply.Error == "" {
		t.Errorf("%+v", reply)
	}
	u.code(Invalid, "shell_parse", "\xff")
	u.code(TooLarge, "shell_parse", strings.Repeat("a", MaxShell+1))
	newTurn(t, func(c *SessionConfig) { c.Granted = Grants{} }).code(Denied, "shell_parse", "ls")
	if u.Poison() != nil {
		t.Error("an analysis poisons")
	}
}

func TestShellParseObeysContext(t *testing.T) {
	u := newTurn(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call, _ := Lookup("shell_parse")
	if _, err := u.Do(ctx, &call, &Args{In: [2][]byte{[]byte("ls; ls; ls")}}); err == nil {
		t.Error("no error")
	}
}

// A guest that cannot pay for an analysis ends with the charge, and the analysis before it
// has done the work.
func TestShellParseStopsWhereFuelEnds(t *testing.T) {
	u := newTurn(t, nil)
	call, _ := Lookup("shell_parse")
	text := "echo $((" + strings.Repeat("1?", 16_000) + "1))"
	for _, fuel := range []int64{1, 1_000_000, 48_000_000} {
		res, err := u.Do(t.Context(), &call, &Args{In: [2][]byte{[]byte(text)}, Fuel: fuel})
		if err != nil || res.Fuel <= fuel || u.reply() != "" {
			t.Errorf("with %d left: %d charged, %v, reply of %d bytes", fuel, res.Fuel, err, len(u.reply()))
		}
	}
	res, err := u.Do(t.Context(), &call, &Args{In: [2][]byte{[]byte(text)}, Fuel: 1 << 40})
	if err != nil || res.Fuel < 48_000_000 || u.reply() == "" {
		t.Errorf("with enough: %d charged, %v", res.Fuel, err)
	}
}

// The other analyses end there, too, and before their replies.
func TestAnalysesStopWhereFuelEnds(t *testing.T) {
	for name, text := range map[string]string{
		"pattern_match": `{"kind":"re2","patterns":["a+b","c"],"texts":["` + strings.Repeat("a", 9000) + `"]}`,
		"path_resolve":  `{"paths":["/a","/b","/c"]}`,
	} {
		u := newTurn(t, nil)
		call, _ := Lookup(name)
		all, err := u.Do(t.Context(), &call, &Args{In: [2][]byte{[]byte(text)}})
		if err != nil || u.reply() == "" || all.Fuel < 50_000 {
			t.Fatalf("%s: %d charged, %v", name, all.Fuel, err)
		}
		for _, fuel := range []int64{1, all.Fuel / 3} {
			u := newTurn(t, nil)
			if res, err := u.Do(t.Context(), &call, &Args{In: [2][]byte{[]byte(text)}, Fuel: fuel}); err != nil ||
				res.Fuel <= fuel || u.reply() != "" {
				t.Errorf("%s with %d left of %d: %d charged, %v, reply of %d bytes", name, fuel, all.Fuel, res.Fuel, err,
					len(u.reply()))
			}
		}
		if res, err := u.Do(t.Context(), &call, &Args{In: [2][]byte{[]byte(text)}, Fuel: all.Fuel}); err != nil ||
			res.Fuel != all.Fuel || u.reply() == "" {
			t.Errorf("%s with just enough: %d charged, %v", name, res.Fuel, err)
		}
	}
}

func TestFindSecretsObeysContext(t *testing.T) {
	u := newTurn(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call, _ := Lookup("find_secrets")
	if _, err := u.Do(ctx, &call, &Args{In: [2][]byte{[]byte("key AKIAAHS2TNQ3ASBS63W2 end")}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestFindSecrets(t *testing.T) {
	u := newTurn(t, nil)
	text := "key AKIAAHS2TNQ3ASBS63W2 end"
	u.do("find_secrets", text)
	reply := decodeReply[secretsReply](u)
	if len(reply.Secrets) != 1 || text[reply.Secrets[0].Start:reply.Secrets[0].End] != "AKIAAHS2TNQ3ASBS63W2" {
		t.Errorf("%+v", reply)
	}
	if strings.Contains(u.reply(), "AKIA") {
		t.Error("the reply holds the secret")
	}
	u.do("find_secrets", strings.Repeat(text+"\n", 300))
	if reply := decodeReply[secretsReply](u); len(reply.Secrets) != 256 || !reply.Truncated {
		t.Errorf("%d secrets, truncated %v", len(reply.Secrets), reply.Truncated)
	}
	u.code(Invalid, "find_secrets", "\xff")
	// The whole detector answers: forms, names, layers, prose, own tokens.
	for text, kind := range map[string]string{
		"PASSWORD=hunter22x": "password", "the password is Tr0ub4dor99x": "password",
		"dump 414b494141485332544e51334153425336335732":   "encoded",
		"d: QUtJQUFIUzJUTlEzQVNCUzYzVzI=":                 "encoded",
		`{"a":"{\"t\":\"\\u0041KIAAHS2TNQ3ASBS63W2\"}"}`:  "aws-access-key",
		"blt_q8Zr2LmX0pTvW4aaq8Zr2LmX0pTvW4aaq8Zr2LmX0p1": "belay-lease", "postgres://u:S3cr3tzz9@h/db": "url-password",
	} {
		u.do("find_secrets", text)
		if reply := decodeReply[secretsReply](u); len(reply.Secrets) != 1 || reply.Secrets[0].Kind != kind {
			t.Errorf("%q: %+v", text, reply)
		}
	}
}

func TestPatternMatch(t *testing.T) {
	for _, tt := range []struct {
		name, req, want string
		code            Errno
	}{
		{"re2", `{"kind":"re2","patterns":["a+","^x"],"texts":["xaa","b"]}`,
			`{"any":true,"matches":[{"text":0,"pattern":0,"start":1,"end":3},{"text":0,"pattern":1,"start":0,"end":1}]}`, 0},
		{"none", `{"kind":"re2","patterns":["z"],"texts":["a"]}`, `{"any":false,"matches":[]}`, 0},
		{"case", `{"kind":"re2","patterns":["ABC"],"texts":["abc"],"ignore_case":true}`,
			`{"any":true,"matches":[{"text":0,"pattern":0,"start":0,"end":3}]}`, 0},
		{"glob", `{"kind":"glob","patterns":["/a/**/*.go","*.go"],"texts":["/a/b/c.go"]}`,
			`{"any":true,"matches":[{"text":0,"pattern":0,"start":0,"end":9}]}`, 0},
		{"glob case", `{"kind":"glob","patterns":["*.{GO,rs}"],"texts":["x.go"],"ignore_case":true}`,
			`{"any":true,"matches":[{"text":0,"pattern":0,"start":0,"end":4}]}`, 0},
		{"nothing asked", `{"kind":"re2","patterns":[],"texts":[]}`, `{"any":false,"matches":[]}`, 0},
		{"unknown kind", `{"kind":"pcre","patterns":["a"],"texts":["a"]}`, "", Invalid},
		{"unknown member", `{"kind":"re2","patterns":["a"],"texts":["a"],"x":1}`, "", Invalid},
		{"not JSON", `{`, "", Invalid},
		{"duplicate member", `{"kind":"re2","kind":"glob","patterns":[],"texts":[]}`, "", Invalid},
		{"bad expression", `{"kind":"re2","patterns":["("],"texts":["a"]}`, "", Invalid},
		{"breaks out of the flag group", `{"kind":"re2","patterns":["a)(b"],"texts":["a"],"ignore_case":true}`, "", Invalid},
		{"backreference", `{"kind":"re2","patterns":["(a)\\1"],"texts":["a"]}`, "", Invalid},
		{"bad glob", `{"kind":"glob","patterns":["[a"],"texts":["a"]}`, "", Invalid},
		{"repetition bomb", `{"kind":"re2","patterns":["(.*a.*b.*c){900}"],"texts":["a"]}`, "", TooLarge},
		{"long pattern", `{"kind":"re2","patterns":["` + strings.Repeat("a", maxPattern+1) + `"],"texts":["a"]}`, "",
			TooLarge},
		{"stars", `{"kind":"glob","patterns":["` + strings.Repeat("*a", 20) + `"],"texts":["a"]}`, "", TooLarge},
		{"braces", `{"kind":"glob","patterns":["` + strings.Repeat("{a,b}", 10) + `"],"texts":["a"]}`, "", TooLarge},
		{"work", `{"kind":"re2","patterns":["[a-z]{500}b"],"texts":["` + strings.Repeat("a", 40000) + `"]}`, "", TooLarge},
	} {
		u := newTurn(t, nil)
		r := u.do("pattern_match", tt.req)
		if tt.code != 0 && r.Code != int64(tt.code) || tt.code == 0 && (u.reply() != tt.want || r.Code < 0) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, r.Code, u.reply(), tt.code, tt.want)
		}
	}
	u := newTurn(t, nil)
	u.code(TooLarge, "pattern_match", `{"kind":"re2","patterns":[`+strings.Repeat(`"a",`, 64)+`"a"],"texts":[]}`)
}

// linkTree is a file system of symbolic links for tests.
type linkTree struct {
	targets map[string]string // "" for a plain file or directory
	asked   []string
}

func (l *linkTree) Readlink(_ context.Context, p string) (string, error) {
	l.asked = append(l.asked, p)
	t, ok := l.targets[p]
	switch {
	case !ok:
		return "", fs.ErrNotExist
	case t == "":
		return "", ErrNotLink
	}
	return t, nil
}

// ".." behind a link leads up from where the link leads, and programs that clean a
// path first go elsewhere: both places are among the keys.
func TestPathResolveClimbs(t *testing.T) {
	l := &linkTree{targets: map[string]string{
		"/srv": "", "/srv/a": "", "/srv/a/deep": "", "/srv/a/key": "", "/srv/key": "other", "/srv/other": "",
		"/srv/link": "a/deep", "/srv/file": "",
	}}
	u := newTurn(t, func(c *SessionConfig) { c.Files, c.CWD = l, "/srv" })
	u.do("path_resolve",
		`{"paths":["link/../key","/srv/link/./../../srv/key","none/../key","file","link/../none/../key"]}`)
	reply := decodeReply[pathReply](u)
	for i, want := range []struct {
		path, resolved, links string
		keys                  []string
	}{
		{"/srv/key", "/srv/a/key", "resolved", []string{"/srv/key", "/srv/other", "/srv/a/key"}},
		{"/srv/key", "/srv/srv/key", "absent", []string{"/srv/key", "/srv/other", "/srv/srv/key"}},
		{"/srv/key", "/srv/other", "resolved", []string{"/srv/key", "/srv/other"}},
		{"/srv/file", "/srv/file", "resolved", []string{"/srv/file"}},
		{"/srv/key", "/srv/other", "resolved", []string{"/srv/key", "/srv/other", "/srv/a/key"}},
	} {
		got := reply.Results[i]
		slices.Sort(got.Keys)
		slices.Sort(want.keys)
		if got.Path != want.path || got.Resolved != want.resolved || got.Links != want.links ||
			!slices.Equal(got.Keys, want.keys) {
			t.Errorf("%s: %+v, want %+v", got.Input, got, want)
		}
	}
}

func TestPathResolve(t *testing.T) {
	l := &linkTree{targets: map[string]string{
		"/srv": "", "/srv/a": "", "/srv/link": "../etc", "/etc": "", "/etc/shadow": "", "/srv/loop": "loop",
		"/srv/rel": "a/./b", "/srv/a/b": "", "/srv/abs": "/etc/shadow",
	}}
	cfg := func(c *SessionConfig) {
		c.Files, c.CWD, c.Home = l, "/srv", "/home/u"
		c.Scopes = phases.Scopes{FSRead: phases.Scope{"/srv/**"}, FSWrite: phases.Scope{}}
	}
	u := newTurn(t, cfg)
	r := u.do("path_resolve", `{"paths":["a","link/shadow","abs","rel","loop","a/none/x","~/x","/etc/shadow"]}`)
	reply := decodeReply[pathReply](u)
	var got []string
	for _, p := range reply.Results {
		got = append(got, p.Resolved+" "+p.Links)
	}
	want := []string{"/srv/a resolved", "/etc/shadow partial", "/etc/shadow partial", "/srv/a/b resolved",
		"/srv/loop loop", "/srv/a/none/x absent", "/home/u/x partial", "/etc/shadow partial"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if k := reply.Results[1]; !slices.Contains(k.Keys, "/etc/shadow") || !slices.Contains(k.Keys, "/srv/link/shadow") {
		t.Errorf("keys of a link: %q", k.Keys)
	}
	for _, p := range l.asked {
		if p != "/srv" && !strings.HasPrefix(p, "/srv/") {
			t.Errorf("looked at %s, outside of the scopes", p)
		}
	}
	if r.Fuel <= 0 || len(u.fileReads) != len(l.asked) {
		t.Errorf("fuel %d, %d of %d reads recorded", r.Fuel, len(u.fileReads), len(l.asked))
	}
	n := len(l.asked)
	u.do("path_resolve", `{"paths":["a","link/shadow"]}`)
	if len(l.asked) != n {
		t.Error("asks again within a turn")
	}

	// a replay answers from the recording and gives the same reply
	replayed := newTurn(t, func(c *SessionConfig) { cfg(c); c.Files = recorded(u.fileReads) })
	first := u.reply()
	if replayed.do("path_resolve", `{"paths":["a","link/shadow"]}`); replayed.reply() != first {
		t.Errorf("replayed %s\nfirst %s", replayed.reply(), first)
	}

	without := newTurn(t, func(c *SessionConfig) { cfg(c); c.Files = nil })
	without.do("path_resolve", `{"paths":["link"],"cwd":"/srv"}`)
	if r := decodeReply[pathReply](without).Results[0]; r.Links != "unknown" || r.Resolved != "" {
		t.Errorf("without a file system: %+v", r)
	}
	u.code(Invalid, "path_resolve", `{"paths":["a"],"cwd":"rel"}`)
	u.code(Invalid, "path_resolve", `{"paths":"a"}`)
	u.code(TooLarge, "path_resolve", `{"paths":[`+strings.Repeat(`"a",`, 64)+`"a"]}`)
	u.code(TooLarge, "path_resolve", `{"paths":["`+strings.Repeat(`a`, maxPathText+1)+`"]}`)
}

// recorded is the FileSystem of a replay.
type recorded []links.Found

func (r recorded) Readlink(_ context.Context, p string) (string, error) {
	for _, e := range r {
		if e.Path != p {
			continue
		}
		switch e.State {
		case "link":
			return e.Target, nil
		case "plain":
			return "", ErrNotLink
		case "absent":
			return "", fs.ErrNotExist
		}
	}
	return "", fs.ErrPermission
}

func FuzzRequests(f *testing.F) {
	for _, s := range []string{`{"paths":["a/../b","\u200b%2e"],"cwd":"/x"}`,
		`{"kind":"re2","patterns":["a|b*"],"texts":["ab"]}`,
		`{"kind":"glob","patterns":["**/{a,b}/[x-z]?"],"texts":["q/a/x1"]}`, `{`, `""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, req string) {
		for _, name := range []string{"path_resolve", "pattern_match", "find_secrets", "shell_parse"} {
			u := newTurn(t, func(c *SessionConfig) { c.CWD, c.Files = "/w", &linkTree{} })
			r := u.do(name, req)
			if r.Code < 0 {
				if u.reply() != "" {
					t.Fatalf("%s refused and replied", name)
				}
				continue
			}
			if !jsontext.Value(u.reply()).IsValid() || int64(len(u.reply())) != r.Code || r.Fuel < 0 {
				t.Fatalf("%s: %d %.100q", name, r.Code, u.reply())
			}
		}
	})
}
