package phases

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// sameLook fails unless the index finds what a scan finds, and says that it took the same work: fuel is made of it.
func sameLook(t interface{ Fatalf(string, ...any) }, doc *Strict, ptr string) {
	want, found, took, err := FindCounted(doc.Bytes(), ptr)
	got, gotFound, gotTook, gotErr := doc.Find(ptr)
	if string(got) != string(want) || gotFound != found || gotTook != took || (gotErr == nil) != (err == nil) ||
		err != nil && gotErr.Error() != err.Error() {
		t.Fatalf("%q in %.300s:\n got %.100s, %v, %+v, %v\nwant %.100s, %v, %+v, %v", ptr, doc.Bytes(), got, gotFound, gotTook,
			gotErr, want, found, took, err)
	}
}

func TestTheIndexFindsWhatAScanFinds(t *testing.T) {
	token := rapid.OneOf(names(), rapid.SampledFrom([]string{"2", "3", "command", "x"}))
	rapid.Check(t, func(t *rapid.T) {
		doc, err := NewStrict(jsontext.Value(spell(t, anyJSON(4).Draw(t, "document"))), math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			sameLook(t, doc, Join("", rapid.SliceOfN(token, 0, 5).Draw(t, "pointer")...))
		}
		sameLook(t, doc, rapid.String().Draw(t, "bad pointer"))
	})
}

// Of a document with more values than an index holds, or deeper than is worth it, the rest is looked through.
func TestTheIndexOfALargeDocument(t *testing.T) {
	member := `"a\u0062":[1,{"x":null}],`
	for name, src := range map[string]string{
		"a long array":     `{"before":{"x":1},"list":[` + strings.Repeat(`{"a":1},`, maxNodes) + `2],"after":{"y":[3]}}`,
		"a long document":  `[` + strings.Repeat(`1,`, maxNodes+1) + `{"a":2}]`,
		"many small lists": `[` + strings.Repeat(`[1,[2]],`, maxNodes/3) + `[{"a":2}]]`,
		"a deep document":  strings.Repeat(`{"a":[`, 60) + `{` + member + `"b":2}` + strings.Repeat(`]}`, 60),
	} {
		doc, err := NewStrict(jsontext.Value(src), math.MaxInt)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, ptr := range []string{"", "/before/x", "/list", "/list/5/a", "/list/1024", "/list/1025", "/after/y/0",
			"/after/z",
			"/1025/a", "/1025", "/5/x", "/340/1/0", "/341/0/a", "/341/-", "/a/0/a/0/a/0", strings.Repeat("/a/0", 60) + "/b",
			strings.Repeat("/a/0", 60) + "/ab/1/x", strings.Repeat("/a/0", 60) + "/c", strings.Repeat("/a/0", 30) + "/01"} {
			sameLook(t, doc, ptr)
		}
		if len(doc.nodes) > maxNodes {
			t.Errorf("%s: %d values in the index", name, len(doc.nodes))
		}
	}
}

func FuzzStrict(f *testing.F) {
	f.Add([]byte(` {"a":[1,{"b~/c":null}],"":"x","\u0061b":{}} `), "/a/1/b~0~1c")
	f.Add([]byte(`[[],{},"\u0061"]`), "/0/1")
	f.Fuzz(func(t *testing.T, raw []byte, ptr string) {
		doc, err := NewStrict(raw, math.MaxInt)
		if (err == nil) != (checkJSON(raw, limits{maxBytes: math.MaxInt, maxDepth: maxCanonicalDepth}) == nil) {
			t.Fatalf("NewStrict: %v", err)
		}
		if err == nil {
			sameLook(t, doc, ptr)
		}
	})
}

// Hooks that run at the same time look into one document.
func TestAStrictDocumentHasManyReaders(t *testing.T) {
	doc, err := NewStrict(jsontext.Value(`{"a":{"b":[1,2]}}`), math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if v, found, _, err := doc.Find("/a/b/1"); string(v) != "2" || !found || err != nil {
				t.Errorf("%s %v %v", v, found, err)
			}
		})
	}
	wg.Wait()
}

// Bytes that are not strict get into no Strict, and a Strict says nothing of other memory.
func TestStrictHoldsWhatWasChecked(t *testing.T) {
	for _, src := range []string{"", " ", "{", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "\"\xff\"", "1 2", "01",
		`"\ud800"`} {
		if doc, err := NewStrict(jsontext.Value(src), math.MaxInt); err == nil || doc.Holds(jsontext.Value(src)) {
			t.Errorf("%q is taken", src)
		}
	}
	if _, err := NewStrict(jsontext.Value(`"abc"`), 4); err == nil {
		t.Error("five bytes are taken for four")
	}
	raw := jsontext.Value(`{"a":1}`)
	doc, err := NewStrict(raw, len(raw))
	if err != nil || !doc.Holds(raw) || doc.Holds(raw.Clone()) || doc.Holds(raw[:6]) || doc.Holds(nil) {
		t.Errorf("%v: Holds", err)
	}
	var none *Strict
	if none.Holds(raw) || none.Holds(nil) || none.Bytes() != nil {
		t.Error("no document holds something")
	}
}

// After any turns the document of a chain is the one that the function Document builds, and strict; what was read off
// the action is what the action says now.
func TestWhatAChainKnowsIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, _, _, turns := drawChain(t)
		for n := -1; n < len(turns); n++ {
			if n >= 0 {
				c.Add(turns[n])
			}
			view := c.View()
			doc, err := c.Document()
			want, wantErr := Document(view, c.Metadata())
			if err != nil || wantErr != nil || string(doc.Bytes()) != string(want) {
				t.Fatalf("document %s, %v, want %s, %v", doc.Bytes(), err, want, wantErr)
			}
			if err := checkJSON(doc.Bytes(), limits{maxBytes: math.MaxInt}); err != nil {
				t.Fatal(err)
			}
			digest, err := c.digest()
			if wantDigest, wantErr := ActionDigest(view); digest != wantDigest || err != nil || wantErr != nil {
				t.Fatalf("digest %s, %v, want %s, %v", digest, err, wantDigest, wantErr)
			}
			if c.Tool() != view.Tool() || strings.Join(c.ToolNames(), " ") != strings.Join(view.ToolNames(), " ") {
				t.Fatalf("%s %q, want %s %q", c.Tool(), c.ToolNames(), view.Tool(), view.ToolNames())
			}
			if !c.Action().Holds(trim(view.Action)) {
				t.Fatal("another action")
			}
		}
	})
}

// Nothing that is not valid comes to a chain by way of a check of something else.
func TestACheckCountsForWhatWasChecked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(Phases()).Draw(t, "phase")
		inv := sampleInvocation(p).Clone()
		checked, err := inv.Check()
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "none") {
			checked = Checked{}
		}
		bad := jsontext.Value(rapid.SampledFrom([]string{`{`, `{"tool":1}`, `{"a":1,"a":1}`, "\xff", `null`, ``, `{"x":{}}`}).
			Draw(t, "bad"))
		switch rapid.IntRange(0, 8).Draw(t, "change") {
		case 0:
			inv.Action = bad
		case 1:
			inv.Metadata = map[string]jsontext.Value{"ticket": bad}
		case 2:
			inv.Phase = rapid.SampledFrom(append(Phases(), "other")).Draw(t, "other phase")
		case 3:
			inv.Session = "a\nb"
		case 4:
			inv.ID = "x"
		case 5:
			inv.Scopes.Net = Scope{"::::"}
		case 6:
			inv.Action = inv.Action[:len(inv.Action)-1]
		case 7:
			inv.Runtime = strings.Repeat("r", MaxRuntimeBytes+1)
		}
		_, err = NewCheckedChain(checked, inv, nil, Scopes{})
		if _, want := NewChain(inv, nil, Scopes{}); (err == nil) != (want == nil) ||
			err != nil && err.Error() != want.Error() {
			t.Fatalf("%v, want %v", err, want)
		}
	})
}

// Metadata that a chain was given without a check shows in its document as an error.
func TestADocumentOfBadMetadata(t *testing.T) {
	c, err := NewChain(sampleInvocation(PreTool), Metadata{"k": {Value: jsontext.Value(`{"a":1,"a":2}`)}}, Scopes{})
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := c.Document(); err == nil {
		t.Errorf("%s", doc.Bytes())
	}
}
