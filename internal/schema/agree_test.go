package schema_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belay-hooks/belay/internal/schema"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// compiled is the schema of a file, as another implementation reads it.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, ok := schema.Of(name)
	if !ok {
		t.Fatalf("there is no schema %s", name)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:///"+name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// accepts says what the schema says of a file.
func accepts(t *testing.T, s *jsonschema.Schema, src []byte) error {
	t.Helper()
	doc, err := strictyaml.Parse(src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(doc.JSON)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// tree is a YAML file as Go values.
func tree(t *testing.T, src string) any {
	t.Helper()
	doc, err := strictyaml.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(doc.JSON, &v, json.WithUnmarshalers(json.UnmarshalFromFunc(integers))); err != nil {
		t.Fatal(err)
	}
	return v
}

// integers keeps whole numbers whole.
func integers(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := d.ReadValue()
	*v = raw.Clone()
	return err
}

// text is the file again; JSON is YAML.
func text(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mutate changes one value somewhere in v and returns the new v and what it did.
func mutate(r *rand.Rand, v any) (any, string) {
	type place struct {
		set  func(any)
		drop func()
		add  func()
		at   string
		v    any
	}
	var places []place
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				places = append(places, place{set: func(x any) { v[k] = x }, drop: func() { delete(v, k) },
					add: func() { v["not-a-member"] = true }, at: at + "/" + k, v: v[k]})
				walk(v[k], at+"/"+k)
			}
		case []any:
			for i := range v {
				here := fmt.Sprintf("%s/%d", at, i)
				places = append(places, place{set: func(x any) { v[i] = x }, at: here, v: v[i]})
				walk(v[i], here)
			}
		}
	}
	walk(v, "")
	p := places[r.IntN(len(places))]
	others := []any{nil, true, "Nonsense X", "", jsontext.Value("-1"), jsontext.Value("1"), jsontext.Value("99999999"),
		[]any{}, map[string]any{}, []any{"x"}, []any{nil}, map[string]any{"x": "y"}}
	switch n := r.IntN(10); {
	case n < 3 && p.drop != nil:
		p.drop()
		return v, "without " + p.at
	case n < 5 && p.add != nil:
		p.add()
		return v, "one more beside " + p.at
	default:
		x := others[r.IntN(len(others))]
		p.set(x)
		return v, fmt.Sprintf("%s = %v", p.at, x)
	}
}

// agree holds a schema against a decoder with n files, each a sample with a change or two. beyond says
// which refusals of the decoder no schema can express; they are most percent at most.
func agree(t *testing.T, name string, samples []string, n int, decode func([]byte) error,
	beyond func(error) bool, most int) {
	t.Helper()
	s := compiled(t, name)
	for _, src := range samples {
		if err := decode([]byte(src)); err != nil {
			t.Fatalf("the sample is not valid: %v\n%s", err, src)
		}
		if err := accepts(t, s, []byte(src)); err != nil {
			t.Fatalf("the schema refuses a sample: %v\n%s", err, src)
		}
	}
	r := rand.New(rand.NewPCG(1, uint64(len(name))))
	taken, refused, left := 0, 0, 0
	wrong := map[string]bool{}
	for i := range n {
		v, what := mutate(r, tree(t, samples[i%len(samples)]))
		src := text(t, v)
		if _, err := strictyaml.Parse(src); err != nil {
			continue // JSON that is no YAML: control characters
		}
		byDecoder, bySchema := decode(src), accepts(t, s, src)
		switch {
		case byDecoder == nil && bySchema == nil:
			taken++
		case byDecoder != nil && bySchema != nil:
			refused++
		case byDecoder != nil && beyond(byDecoder):
			left++
		case !wrong[what] && len(wrong) < 40:
			wrong[what] = true
			t.Errorf("%s: decoder: %v; schema: %.300v", what, byDecoder, fmt.Sprint(bySchema))
		}
	}
	t.Logf("%s: %d taken by both, %d refused by both, %d refused for what no schema says", name, taken, refused, left)
	if taken < n/20 || refused < n/4 || left > n*most/100 {
		t.Errorf("%s: %d taken, %d refused, %d left to the decoder of %d", name, taken, refused, left, n)
	}
}
