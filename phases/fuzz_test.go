package phases

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// checkPlace fails unless err is a DecodeError that points into the document.
func checkPlace(t *testing.T, src []byte, err error) {
	t.Helper()
	var d *DecodeError
	if !errors.As(err, &d) || !errors.Is(err, ErrDecode) {
		t.Fatalf("not a *DecodeError: %v", err)
	}
	if d.Offset > int64(len(src)) || d.Offset < -1 || d.Reason == "" || hasControl(d.Error()) {
		t.Fatalf("bad place or text: %+v", d)
	}
}

func FuzzDecodeInvocation(f *testing.F) {
	for _, p := range Phases() {
		b, err := EncodeInvocation(sampleInvocation(p))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		inv, err := DecodeInvocation(b)
		if err != nil {
			checkPlace(t, b, err)
			return
		}
		if !stdjson.Valid(b) {
			t.Fatalf("the standard library does not take this for JSON: %q", b)
		}
		if raw, ok := Get(b, "/action"); !ok || string(raw) != string(inv.Action) {
			t.Fatalf("the action lost its bytes: %q, %q", inv.Action, raw)
		}
		again, err := EncodeInvocation(inv)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeInvocation(again)
		if err != nil {
			if len(again) > MaxInputBytes {
				return // longer escapes
			}
			t.Fatalf("%v\n%s", err, again)
		}
		inv.Metadata, back.Metadata = nilIfEmpty(inv.Metadata), nilIfEmpty(back.Metadata)
		if d := cmp.Diff(inv, back); d != "" {
			t.Fatal(d)
		}
		doc, err := Document(inv, nil)
		if err != nil || checkJSON(doc, limits{maxBytes: math.MaxInt}) != nil {
			t.Fatalf("no document: %v\n%s", err, doc)
		}
		if _, err := NewChain(inv, nil, Scopes{}); err != nil {
			// Normalising can lengthen a name that was at the limit; that is refused, not cut.
			checkPlace(t, b, err)
		}
	})
}

func nilIfEmpty(m map[string]jsontext.Value) map[string]jsontext.Value {
	if len(m) == 0 {
		return nil
	}
	for k, v := range m {
		m[k] = trim(v)
	}
	return m
}

func FuzzDecodeAction(f *testing.F) {
	for p, a := range sampleActions() {
		f.Add(string(p), []byte(a))
	}
	f.Fuzz(func(t *testing.T, p string, raw []byte) {
		phase := Phase(p)
		a, err := DecodeAction(phase, raw)
		if checkJSON(raw, limits{}) != nil {
			if err == nil && checkJSON(raw, limits{maxBytes: math.MaxInt, maxDepth: maxCanonicalDepth}) != nil {
				t.Fatalf("decoding takes what is not strict: %q", raw)
			}
			return // callers check that, too
		}
		if err != nil {
			checkPlace(t, raw, err)
			return
		}
		if a.phase() != phase {
			t.Fatalf("%s instead of %s", a.phase(), phase)
		}
		// What hooks do to an action that is right leaves one that is right.
		for _, e := range effectsOf(phase) {
			out, err := ApplyEffect(phase, passOf(phase), raw, almighty(), e)
			if err == nil && checkAction(phase, out) != nil {
				t.Fatalf("%s broke %q: %q", e.Kind, raw, out)
			}
		}
	})
}

func FuzzPointer(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b~/c":null}],"":"x"}`), "/a/1/b~0~1c", []byte(`[1]`))
	f.Add([]byte(`[[],{},"\u0061"]`), "/0", []byte(`"é"`))
	f.Fuzz(func(t *testing.T, raw []byte, ptr string, value []byte) {
		got, found, err := find(raw, ptr) // must end, whatever raw is
		if _, e := Set(raw, ptr, value); e == nil && err != nil {
			t.Fatalf("Set takes %q, Find does not: %v", ptr, err)
		}
		_, _ = remove(raw, ptr)
		if checkJSON(raw, limits{maxDepth: 50}) != nil || checkJSON(value, limits{maxDepth: 50}) != nil {
			return
		}
		want, ok := any(nil), false
		if CheckPointer(ptr) == nil {
			want, ok = lookup(parse(t, number(raw)), ptr)
		}
		if found != ok {
			t.Fatalf("Find(%q, %q) = %q, %v; want %v", raw, ptr, got, found, ok)
		}
		if found && !cmp.Equal(parse(t, number(got)), want) {
			t.Fatalf("Find(%q, %q) = %q, want %v", raw, ptr, got, want)
		}
		if set, err := Set(raw, ptr, value); err == nil {
			if checkJSON(set, limits{}) != nil {
				t.Fatalf("Set(%q, %q, %q) = %q", raw, ptr, value, set)
			}
			if v, ok := Get(set, ptr); !ok || string(v) != string(trim(value)) {
				t.Fatalf("Set(%q, %q, %q) = %q", raw, ptr, value, set)
			}
		} else if found {
			t.Fatalf("Set(%q, %q, %q): %v", raw, ptr, value, err)
		}
		if removed, err := remove(raw, ptr); err == nil {
			if checkJSON(removed, limits{}) != nil {
				t.Fatalf("Remove(%q, %q) = %q", raw, ptr, removed)
			}
		} else if found && ptr != "" {
			t.Fatalf("Remove(%q, %q): %v", raw, ptr, err)
		}
	})
}

// number replaces numbers that a double cannot hold, for the model's sake.
func number(raw jsontext.Value) jsontext.Value {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end, _ := skipString(raw, i)
			out = append(out, raw[i:end]...)
			i = end
		case c == '-' || c >= '0' && c <= '9':
			i, _ = skipValue(raw, i)
			out = append(out, '7')
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":1.50,"a":[1e400,9007199254740993,-0.0],"\ud83d\ude00":"\u000f"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Canonical(raw)
		if err != nil {
			checkPlace(t, raw, err)
			return
		}
		if again, err := Canonical(c); err != nil || string(again) != string(c) {
			t.Fatalf("%q, then %q, %v", c, again, err)
		}
		var a, b any // as doubles, both are the same document
		if json.Unmarshal(raw, &a) == nil && (json.Unmarshal(c, &b) != nil || !cmp.Equal(a, b)) {
			t.Fatalf("%q means something else than %q", c, raw)
		}
		if lib := jsontext.Value(slices.Clone(raw)); lib.Canonicalize() == nil {
			back, err := Canonical(lib)
			if err == nil && string(back) == string(c) && string(lib) != string(c) {
				t.Fatalf("one document, two forms: %q, RFC 8785 %q", c, lib)
			}
		}
		if d := Diff(raw, c); len(d) != 0 {
			t.Fatalf("%q and its canonical form differ at %q", raw, d)
		}
	})
}

func FuzzScope(f *testing.F) {
	f.Add(byte(0), "/a/**\n/b", "/a/b\n*")
	f.Add(byte(1), "*.x:1-80\na:443", "b.x:80\n*:79-443")
	f.Add(byte(2), "mcp:*\nexec", "mcp:s:*\n*")
	f.Fuzz(func(t *testing.T, kind byte, x, y string) {
		k := []ScopeKind{ScopePath, ScopeNet, ScopeTool}[kind%3]
		a, b := Scope(strings.Split(x, "\n")), Scope(strings.Split(y, "\n"))
		if len(a) > 50 || len(b) > 50 {
			return
		}
		n := a.Normalize(k)
		if err := n.Validate(k); err != nil {
			t.Fatalf("the normal form %q of %q: %v", n, a, err)
		}
		if again := n.Normalize(k); !slices.Equal(again, n) {
			t.Fatalf("%q, then %q", n, again)
		}
		if a.Validate(k) == nil != n.Contains(k, a) {
			t.Fatalf("%q is not what %q was", n, a)
		}
		i := a.Intersect(k, b)
		if !slices.Equal(i, b.Intersect(k, a)) || !a.Contains(k, i) || !b.Contains(k, i) {
			t.Fatalf("%q and %q: %q", a, b, i)
		}
		if a.Contains(k, b) && !slices.Equal(i, b.Normalize(k)) {
			t.Fatalf("%q contains %q, but their intersection is %q", a, b, i)
		}
		for _, p := range append(a, b...) { // patterns are also good values to ask about
			host, _, _ := strings.Cut(p, ":")
			var in func(Scope) bool
			switch k {
			case ScopePath:
				in = func(s Scope) bool { return s.allowsPath(p) }
			case ScopeTool:
				in = func(s Scope) bool { return s.AllowsTool(p) }
			default:
				in = func(s Scope) bool { return s.allowsHost(host, 80) }
			}
			if in(i) != (in(a) && in(b)) || in(n) != in(a) {
				t.Fatalf("%q is in %v, %v, and in the intersection %v", p, in(a), in(b), in(i))
			}
		}
	})
}

func FuzzEffect(f *testing.F) {
	f.Add("pre_tool", "rewrite", "/args/command", []byte(`"ls"`), "", "", false)
	f.Add("pre_send", "redact", "/headers", []byte(nil), "key", "", false)
	f.Add("post_receive", "retry", "", []byte(`{"instruction":"x","max":3}`), "", "", false)
	f.Fuzz(func(t *testing.T, p, kind, path string, value []byte, label, text string, remove bool) {
		action := jsontext.Value(sampleActions()[Phase(p)])
		e := Effect{Kind: EffectKind(kind), Path: path, Value: value, Label: label, Key: label, Text: text, Remove: remove}
		out, err := ApplyEffect(Phase(p), passOf(Phase(p)), action, almighty(), e)
		if err != nil {
			var x *effectProblem
			if !errors.As(err, &x) || out != nil || hasControl(err.Error()) {
				t.Fatalf("%v", err)
			}
			return
		}
		if checkAction(Phase(p), out) != nil || checkJSON(out, limits{}) != nil {
			t.Fatalf("broken: %q", out)
		}
		for _, fixed := range []string{"/tool", "/provider", "/child/agent", "/machine", "/kind", "/call_id",
			"/headers/Authorization", "/scopes"} {
			a, _ := Get(action, fixed)
			if b, _ := Get(out, fixed); string(a) != string(b) {
				t.Fatalf("%s became %q", fixed, b)
			}
		}
		for _, d := range Diff(action, out) {
			if Phase(p) != PreSend && !Covers(path, d) && !Covers(d, path) {
				t.Fatalf("an effect on %q changed %q", path, d)
			}
		}
	})
}
