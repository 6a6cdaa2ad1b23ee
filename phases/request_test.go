package phases

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestSurvivesEncoding(t *testing.T) {
	for _, p := range Phases() {
		for _, want := range []Request{
			{Invocation: sampleInvocation(p)},
			{Invocation: sampleInvocation(p), HoldsScopes: true},
			{Invocation: sampleInvocation(p), ParentScopes: &Scopes{}},
			{Invocation: sampleInvocation(p), HoldsScopes: true, ParentScopes: &Scopes{FSWrite: Scope{"/w/**"}, Tools: Scope{}}},
		} {
			b, err := EncodeRequest(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeRequest(b)
			if err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", p, d)
			}
		}
	}
}

// The members are as strict as those of the invocation, and an invocation alone, as in
// recordings, does not have them.
func TestDecodeRequestRefuses(t *testing.T) {
	for name, c := range map[string]struct{ members, pointer string }{
		"not a truth value":      {`"holds_scopes":"yes",`, "/holds_scopes"},
		"null":                   {`"holds_scopes":null,`, "/holds_scopes"},
		"twice":                  {`"holds_scopes":true,"holds_scopes":true,`, "/holds_scopes"},
		"another spelling":       {`"Holds_Scopes":true,`, "/Holds_Scopes"},
		"no parent":              {`"parent_scopes":null,`, "/parent_scopes"},
		"a list":                 {`"parent_scopes":[],`, "/parent_scopes"},
		"an unknown kind":        {`"parent_scopes":{"disk":[]},`, "/parent_scopes/disk"},
		"a null in it":           {`"parent_scopes":{"net":null},`, "/parent_scopes/net"},
		"a pattern that is none": {`"parent_scopes":{"fs_read":["relative"]},`, "/parent_scopes/fs_read/0"},
		"an unknown member":      {`"scopes_lost":true,`, "/scopes_lost"},
	} {
		_, err := DecodeRequest([]byte(envelope(c.members, okAction)))
		var d *DecodeError
		if !errors.As(err, &d) || d.Pointer != c.pointer || d.Line == 0 {
			t.Errorf("%s: %v, want a fault at %s with its line", name, err, c.pointer)
		}
	}
	for _, members := range []string{`"holds_scopes":true,`, `"parent_scopes":{},`} {
		if _, err := DecodeInvocation([]byte(envelope(members, okAction))); !errors.Is(err, ErrDecode) {
			t.Errorf("an invocation alone with %s: %v", members, err)
		}
	}
	bad := Request{Invocation: sampleInvocation(Spawn), ParentScopes: &Scopes{Net: Scope{"x"}}}
	if b, err := EncodeRequest(bad); !errors.Is(err, ErrDecode) {
		t.Errorf("%s %v", b, err)
	}
}

func TestWithHeldScopes(t *testing.T) {
	for _, src := range []string{envelope("", okAction), envelope(`"holds_scopes":false,`, okAction),
		" " + envelope(`"holds_scopes":true,`, okAction) + "\n"} {
		b, err := withHeldScopes([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := DecodeRequest(b); err != nil || !r.HoldsScopes {
			t.Errorf("%s: %+v %v", b, r, err)
		}
	}
	for _, src := range []string{"", "[]", "x", `{"a":1,"a":2}`} {
		if b, err := withHeldScopes([]byte(src)); !errors.Is(err, ErrDecode) {
			t.Errorf("%q: %s %v", src, b, err)
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(envelope("", okAction)))
	f.Add([]byte(envelope(`"holds_scopes":true,"parent_scopes":{"fs_write":["/w/**"],"net":[]},`, okAction)))
	f.Add([]byte(envelope(`"parent_scopes":{"tools":null},`, okAction)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRequest(b)
		if err != nil {
			checkPlace(t, b, err)
			return
		}
		if r.ParentScopes != nil && r.ParentScopes.Validate() != nil {
			t.Fatalf("scopes that are not valid: %+v", r.ParentScopes)
		}
		if !r.HoldsScopes && r.ParentScopes == nil && membersOf(b, "holds_scopes", "parent_scopes") == 0 {
			if inv, err := DecodeInvocation(b); err != nil || cmp.Diff(inv, r.Invocation) != "" {
				t.Fatalf("another invocation without the members: %v", err)
			}
		}
		again, err := EncodeRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) > MaxInputBytes {
			return // longer escapes
		}
		if back, err := DecodeRequest(again); err != nil || back.HoldsScopes != r.HoldsScopes ||
			cmp.Diff(back.ParentScopes, r.ParentScopes) != "" {
			t.Fatalf("%v\n%s", err, again)
		}
	})
}

// membersOf counts which of the names stand at the root of a document.
func membersOf(b []byte, names ...string) (n int) {
	for _, name := range names {
		if _, ok := Get(b, "/"+name); ok {
			n++
		}
	}
	return n
}
