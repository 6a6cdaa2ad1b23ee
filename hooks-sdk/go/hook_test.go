package hook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	hook "github.com/belay-hooks/belay/hooks-sdk/go"
	"github.com/belay-hooks/belay/hooks-sdk/go/hooktest"
)

func TestReads(t *testing.T) {
	const doc = `{"tool":"exec","args":{"a/b":[1,2.50,{"x":"\u00e9\n\ud83d\ude00"}],"big":1234567890123456789012},"on":true,"nil":null}`
	eq := func(got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	got := hooktest.New(doc).Config(`{"max":3,"on":false,"list":["a"]}`).Run(func() int32 {
		eq(hook.Text("/tool"), "exec")
		eq(hook.Text("/on"), "")
		eq(hook.IsTrue("/on"), true)
		eq(hook.KindOf("/nil"), hook.Null)
		eq(hook.Has("/none"), false)
		s, ok := hook.Get("/args/a~1b/1")
		eq(s, "2.50")
		eq(ok, true)
		eq(hook.Text("/args/a~1b/2/x"), "é\n😀")
		_, ok = hook.Int("/args/big")
		eq(ok, false)
		eq(strings.Join(hook.Keys("/args"), " "), "a/b big")
		eq(len(hook.Keys("/tool")), 0)
		eq(hook.Len("/args/a~1b"), 3)
		eq(hook.ConfigInt("/max", 1), int64(3))
		eq(hook.ConfigBool("/on", true), false)
		eq(hook.ConfigLen("/list"), 1)
		eq(hook.ConfigText("/none", "x"), "x")
		eq(hook.Pointer("args", "a/b", "~"), "/args/a~1b/~0")
		eq(hook.Input(), doc)
		eq(hook.InputValue("/args").Get("a/b").Items()[2].Get("x").Text(), "é\n😀")
		return hook.OK
	})
	eq(got.Status, hook.OK)
}

func TestEffects(t *testing.T) {
	got := hooktest.New("{}").Run(func() int32 {
		hook.Ask("push \"it\"?", 60)
		hook.RewriteJSON("/args/n", "1")
		hook.RewriteText("/args/t", "x")
		hook.Remove("/args/r")
		hook.Redact("/args/p", "password")
		hook.AnnotateText("class", "hard")
		hook.ClampScopes(hook.Scopes{FSRead: []string{"/w/**"}, Net: []string{}})
		hook.Retry("again", 2)
		hook.PutArtifact(hook.Artifact{Name: "r", MediaType: "text/plain", Text: "\x01", Meta: `{"n":1}`})
		return hook.OK
	})
	want := []hooktest.Effect{
		{Call: "request_approval", Value: `{"reason":"push \"it\"?","ttl_s":60}`},
		{Call: "rewrite", Path: "/args/n", Value: "1", Kind: "json"},
		{Call: "rewrite", Path: "/args/t", Value: "x", Kind: "text"},
		{Call: "rewrite", Path: "/args/r", Kind: "remove"},
		{Call: "redact", Path: "/args/p", Value: "password"},
		{Call: "annotate", Path: "class", Value: `"hard"`},
		{Call: "clamp_scopes", Value: `{"fs_read":["/w/**"],"net":[]}`},
		{Call: "retry", Value: `{"instruction":"again","max":2}`},
		{Call: "put_artifact", Value: `{"name":"r","media_type":"text/plain","text":"\u0001","meta":{"n":1}}`},
	}
	if len(got.Effects) != len(want) {
		t.Fatalf("%+v", got.Effects)
	}
	for i := range want {
		if got.Effects[i] != want[i] {
			t.Errorf("got %+v, want %+v", got.Effects[i], want[i])
		}
	}
}

func TestFailureDropsEffects(t *testing.T) {
	got := hooktest.New("{}").Run(func() int32 {
		hook.Block("stop")
		if _, err := hook.ShellParse("ls"); err != nil {
			return hook.FailError(err)
		}
		return hook.OK
	})
	if got.Status == 0 || got.Blocked != "" || got.Failed != "not offered by this host" {
		t.Errorf("%+v", got)
	}
}

// What the host says beside an errno reaches the author, and the record.
func TestRefused(t *testing.T) {
	pending := `{"reason":"a person has to approve it","approval":{"id":"7"}}`
	got := hooktest.New("{}").RefuseWith("request_tool_call", -6, pending).RefuseWith("mint_lease", -2, `{"error":"wider than its parent"}`).
		Refuse("http_request", -4).Run(func() int32 {
		_, err := hook.RequestToolCall("{}")
		var r *hook.Refused
		if !errors.Is(err, hook.Pending) || !errors.As(err, &r) || r.Document != pending || r.Reason() != "a person has to approve it" {
			t.Errorf("%v", err)
		}
		if _, err := hook.MintLease("{}"); !errors.Is(err, hook.Denied) || err.Error() != "not granted, or not legal in this phase: wider than its parent" {
			t.Errorf("%v", err)
		}
		if _, err := hook.HTTPRequest("{}"); !errors.As(err, &r) || r.Document != "" || err.Error() != "a quota of this turn is spent" {
			t.Errorf("the document of a call before is not this one's: %v", err)
		}
		if _, err := hook.CheckLease("{}"); !errors.Is(err, hook.Unavailable) {
			t.Errorf("%v", err)
		}
		_, err = hook.RequestToolCall("{}")
		return hook.FailError(err)
	})
	if got.Failed != "waits for a person: a person has to approve it" {
		t.Errorf("%+v", got)
	}
}

func TestShellParse(t *testing.T) {
	const reply = `{"ok":true,"dialect":"bash","commands":[
		{"name":"rm","words":[{"text":"rm","known":true},{"text":"*.o","known":true,"glob":true},{"text":"~","known":true,"tilde":true}],
		"raw":"rm *.o ~","pipe":0,"stdin_from":-1,"parent":1,"via":["sudo"],"context":["background"],"cwd":{"text":"/d/$X","known":false},
		"assigns":[{"name":"A","value":{"text":"1","known":true}}],"redirects":[{"op":">","fd":1,"target":{"text":"/x","known":true}}]},
		{"name":"f","words":[{"text":"f","known":true}],"raw":"f","pipe":2,"stdin_from":0,"parent":-1,"cwd":{"text":"/d","known":true},
		"stdin":{"text":"$X","known":false,"from":[0,3]},"function":true,"recursive":true,"remote":true,"args_open":true}],
		"unknown":[{"what":"code","raw":"$X","command":-1},{"what":"code","raw":"sh","command":1,"partial":true}],"truncated":false,
		"functions":["f"],"unknown_programs":[{"what":"program","language":"awk","text":"$X","partial":true,"raw":"awk $X","command":1},
		{"what":"program","language":"python","file":"x.py","raw":"python x.py","command":-1}]}`
	want := hook.Shell{
		OK: true, Dialect: "bash", Functions: []string{"f"},
		Commands: []hook.Command{
			{
				Name: "rm", Words: []hook.Word{{Text: "rm", Known: true}, {Text: "*.o", Known: true, Glob: true}, {Text: "~", Known: true, Tilde: true}},
				Raw: "rm *.o ~", StdinFrom: -1, Parent: 1, Via: []string{"sudo"}, Context: []string{"background"},
				CWD: "/d/$X", CWDUnknown: true, Assigns: []hook.Assign{{Name: "A", Value: hook.Word{Text: "1", Known: true}}},
				Redirects: []hook.Redirect{{Op: ">", FD: 1, Target: hook.Word{Text: "/x", Known: true}}},
			},
			{
				Name: "f", Words: []hook.Word{{Text: "f", Known: true}}, Raw: "f", Pipe: 2, Parent: -1, CWD: "/d",
				Stdin: &hook.Word{Text: "$X", From: []int{0, 3}}, Function: true, Recursive: true, Remote: true, ArgsOpen: true,
			},
		},
		Unknown: []hook.Unknown{{What: "code", Raw: "$X", Command: -1}, {What: "code", Raw: "sh", Command: 1, Partial: true}},
		UnknownPrograms: []hook.Program{
			{Language: "awk", Text: "$X", Partial: true, Raw: "awk $X", Command: 1},
			{Language: "python", File: "x.py", Raw: "python x.py", Command: -1},
		},
	}
	hooktest.New("{}").Reply("shell_parse", reply).Run(func() int32 {
		s, err := hook.ShellParse("sudo rm ~ >/x; $X")
		if err != nil || !reflect.DeepEqual(s, want) {
			t.Errorf("%v\n%+v\n%+v", err, s, want)
		}
		if line := s.Commands[0].Line(); line != "rm *.o ~" {
			t.Errorf("%q", line)
		}
		return hook.OK
	})
}

// A reply of a host that is older than a member says that there is none, and never that it is the first command.
func TestShellParseOfAnOlderHost(t *testing.T) {
	const reply = `{"ok":true,"commands":[{"name":"a","words":[]}],"unknown":[{"what":"name","raw":"$X"}],"truncated":false}`
	hooktest.New("{}").Reply("shell_parse", reply).Run(func() int32 {
		s, err := hook.ShellParse("a; $X")
		if err != nil {
			t.Fatal(err)
		}
		if c := s.Commands[0]; c.Parent != -1 || c.StdinFrom != -1 || c.Stdin != nil || c.Pipe != 0 || c.CWDUnknown || s.Unknown[0].Command != -1 {
			t.Errorf("%+v %+v", c, s.Unknown)
		}
		return hook.OK
	})
}

// What a call would run, by the vectors that all SDKs share.
func TestCommandVectors(t *testing.T) {
	src, err := os.ReadFile("../abi/testdata/commands.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Document json.RawMessage
		Command  *string
		Lines    *hook.Lines
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&vectors); err != nil || len(vectors) < 20 {
		t.Fatal(len(vectors), err)
	}
	for _, v := range vectors {
		hooktest.New(string(v.Document)).Run(func() int32 {
			if got, ok := hook.InputCommand(); ok != (v.Command != nil) || ok && got != *v.Command {
				t.Errorf("%s: command %q, %v", v.Document, got, ok)
			}
			got, ok := hook.InputLines()
			if ok != (v.Lines != nil) {
				t.Errorf("%s: lines %+v, %v", v.Document, got, ok)
			} else if ok && (!slices.Equal(got.Lines, v.Lines.Lines) || got.Foreign != v.Lines.Foreign || got.More != v.Lines.More) {
				t.Errorf("%s: lines %+v, want %+v", v.Document, got, *v.Lines)
			}
			return hook.OK
		})
	}
}

func TestState(t *testing.T) {
	got := hooktest.New("{}").State("n", "1").Run(func() int32 {
		s, _ := hook.StateGet("n")
		if err := hook.StatePut("n", s+"2"); err != nil {
			t.Error(err)
		}
		if _, err := hook.StateGet("none"); err != hook.Absent {
			t.Error(err)
		}
		return hook.OK
	})
	if got.State["n"] != "12" {
		t.Errorf("%+v", got.State)
	}
}

func TestParseJSONIsStrict(t *testing.T) {
	for _, bad := range []string{
		"", "{", "[1,]", "01", "1.", `"\x"`, "\"\n\"", `"\ud800"`, `"\udc00"`, "nul", "1 2", `{"a" 1}`, `"\u00g0"`,
		strings.Repeat("[", 100_000),
	} {
		if v, ok := hook.ParseJSON(bad); ok {
			t.Errorf("%.40q was read as %+v", bad, v)
		}
	}
	v, ok := hook.ParseJSON(` {"a":[1,-2.5e+10,"\"\\\u0001",{}],"b":[]} `)
	if !ok || v.Get("a").Items()[2].Text() != "\"\\\x01" || v.Get("b").Kind() != hook.Array || v.Get("c").Kind() != hook.None {
		t.Errorf("%+v %v", v, ok)
	}
}

func TestIntegers(t *testing.T) {
	for _, n := range []int64{0, -1, 7, 1<<62 + 5, -1 << 63, 999999999999999999} {
		s := hook.FormatInt(n)
		if back, ok := hook.ParseInt(s); ok && back != n {
			t.Errorf("%d became %q and %d", n, s, back)
		}
	}
	if _, ok := hook.ParseInt("1e3"); ok {
		t.Error("1e3 is no integer here")
	}
}

// What ParseJSON takes is JSON; what is JSON it takes, but for escapes of half a
// surrogate pair and for nesting beyond its limit.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9\ud83d\ude00"],"b":null}`, `"\ud800"`, `[[[[]]]]`, ` true `, `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, ok := hook.ParseJSON(s)
		valid := json.Valid([]byte(s))
		if ok && !valid {
			t.Errorf("%q is not JSON", s)
		}
		if !ok && valid && !strings.Contains(s, `\u`) && strings.Count(s, "[")+strings.Count(s, "{") < 200 {
			t.Errorf("%q is JSON", s)
		}
	})
}

func FuzzWriterText(f *testing.F) {
	f.Add("é\n\"\\\x00😀")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("text is UTF-8")
		}
		var w hook.Writer
		out := w.Text(s).String()
		v, ok := hook.ParseJSON(out)
		var std string
		if err := json.Unmarshal([]byte(out), &std); !ok || v.Text() != s || err != nil || std != s {
			t.Errorf("%q became %s, %q and %q (%v)", s, out, v.Text(), std, err)
		}
	})
}
