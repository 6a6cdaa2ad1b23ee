package config_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/tiers"
)

// An edit of a valid file changes its entry and leaves the rest as it is: a
// hook that was bound before is bound the same way after.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(config.Empty))
	f.Add([]byte("version: belay/v1\nhooks:\n- &a {name: a, module: builtin:a, capabilities: []}\n"))
	f.Add([]byte(
		"{version: belay/v1, hooks: [{name: x, module: builtin:x, capabilities: [], config: {a: \"1e3\", b: 0x10, c: no, d: ~}}]}"))
	f.Add([]byte("{version: belay/v1, hooks: [{name: x, module: builtin:x, capabilities: [], config: {a: , b, c: [,]}}]}"))
	f.Add([]byte("version: belay/v1\nhooks:\n- {name: x, module: builtin:x, capabilities: [], config: {a: , b: 1}}\n"))
	f.Add([]byte("version: belay/v1\nhooks: ~\n# end"))
	same := []cmp.Option{cmp.Transformer("bindings", bindings), cmpopts.IgnoreUnexported(config.File{})}
	added := config.Binding{Name: "added", Module: "builtin:command-guard", Priority: -3, Capabilities: []string{"block"}}
	f.Fuzz(func(t *testing.T, src []byte) {
		before, err := config.Parse(src)
		out, aerr := config.AddBinding(src, added)
		if aerr != nil && !errors.Is(aerr, config.ErrConfig) {
			t.Fatalf("error without class: %v", aerr)
		}
		if err != nil || aerr != nil {
			if err != nil && aerr == nil {
				t.Fatalf("%q is not valid (%v) and is made into %q", src, err, out)
			}
			return
		}
		after, err := config.Parse(out)
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		n := len(after.Hooks) - 1
		if n != len(before.Hooks) || after.Hooks[n].Name != added.Name || after.Hooks[n].Priority != added.Priority {
			t.Fatalf("it was not added: %q", out)
		}
		after.Hooks = after.Hooks[:n:n]
		if d := cmp.Diff(before, after, same...); d != "" {
			t.Fatalf("%q was made into %q: %s", src, out, d)
		}
		gone, err := config.RemoveBinding(out, added.Name)
		if err != nil {
			t.Fatalf("what was added cannot be removed: %v", err)
		}
		last, err := config.Parse(gone)
		if err != nil {
			t.Fatalf("%q: %v", gone, err)
		}
		if d := cmp.Diff(before, last, same...); d != "" {
			t.Fatalf("%q was made into %q: %s", src, gone, d)
		}
	})
}

// bindings treats no hooks and an empty list of them alike.
func bindings(list []config.Binding) map[string]config.Binding {
	out := map[string]config.Binding{}
	for _, b := range list {
		out[b.Name] = b
	}
	return out
}

// The same for the trust policy: trusted and denied entries stay so.
func FuzzTrustEdit(f *testing.F) {
	f.Add([]byte("version: belay/v1\n"))
	f.Add([]byte("version: belay/v1 # ours\ndeny: {digests: [], keys: [a]}\n"))
	f.Add([]byte("version: belay/v1\ndeny: ~\nrules: []\n"))
	read := func(string, int64) ([]byte, error) { return nil, errors.New("there is none") }
	denied := tiers.Deny{Keys: []string{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := tiers.ParsePolicy(src, read); err != nil {
			_, _ = config.AddDeny(src, denied) // what comes of it is read by the same rules
			return
		}
		out, err := config.AddDeny(src, denied)
		if err != nil {
			if !errors.Is(err, config.ErrConfig) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		if _, err := tiers.ParsePolicy(out, read); err != nil {
			t.Fatalf("%q was made into %q, which is not valid: %v", src, out, err)
		}
	})
}

// A value that is left empty is null before and after, also inside of braces.
func TestEmptyValuesStayEmpty(t *testing.T) {
	src := []byte(
		"version: belay/v1\nhooks:\n- {name: x, module: builtin:x, capabilities: [], config: {a: , b, c: ~, d: ''}}\n")
	out, err := config.SetDisabled(src, "x", true)
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse(out)
	if err != nil || string(f.Hooks[0].Config) != `{"a":null,"b":null,"c":null,"d":""}` || !f.Hooks[0].Disabled {
		t.Errorf("%s, %v", out, err)
	}
}
