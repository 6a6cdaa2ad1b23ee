package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rules"
)

// Every built-in hook says in a line what it does, refuses options that it does not have, explains
// those that it has, and comes with a binding that belay.yaml takes as it is.
func TestBuiltinHooksAreDescribed(t *testing.T) {
	dir := t.TempDir()
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range set.Hooks() {
		in, err := (&App{}).inspectBuiltin(t.Context(), dir, h.Name)
		if err != nil {
			t.Errorf("%s: %v", h.Name, err)
			continue
		}
		if d := in.Manifest.Description; d == "" || len(d) > 130 || strings.Contains(d, "\n") || !strings.HasSuffix(d, ".") {
			t.Errorf("%s: the description is %q", h.Name, d)
		}
		if err := in.Manifest.ValidateConfig([]byte(`{"no_such_option": 1}`)); err == nil {
			t.Errorf("%s: it takes an option that it does not have", h.Name)
		}
		if in.Unread != "" {
			t.Errorf("%s: %s", h.Name, in.Unread)
		}
		for _, o := range in.Options {
			if o.Meaning == "" || o.Type == "" || o.Type == "any value" {
				t.Errorf("%s: the option %s has the type %q and the meaning %q", h.Name, o.Name, o.Type, o.Meaning)
			}
		}
		for _, text := range []string{in.Binding, strings.Replace(in.Binding, "    # config:", "    config:", 1)} {
			checkPasted(t, dir, h.Name, text, &in)
		}
	}
}

func checkPasted(t *testing.T, dir, name, text string, in *inspected) {
	f, err := config.Parse([]byte("version: belay/v1\nhooks:\n" + text))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
		return
	}
	b := f.Hooks[0]
	if name != rules.Engine && b.Module != "builtin:"+name {
		t.Errorf("%s: the binding is of %s", name, b.Module)
	}
	if err := in.Manifest.ValidateConfig(b.Config); err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
	info, err := loader.Inspect(t.Context(), module(t, name), b.Capabilities)
	if err != nil || len(info.Problems) > 0 {
		t.Errorf("%s: bound so, it would be refused: %v %q", name, err, info.Problems)
	}
}

func module(t *testing.T, name string) []byte {
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	h, err := set.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return h.Module
}

// GUARDS.md has a row for every built-in hook, which names its options and whether `belay init` binds it.
func TestGuardsPageNamesBuiltinHooks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/GUARDS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && strings.HasPrefix(line, "| [`") {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "| [`"), "`")
			rows[name] = cells
		}
	}
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range set.Hooks() {
		row := rows[h.Name]
		delete(rows, h.Name)
		if row == nil {
			t.Errorf("%s has no row", h.Name)
			continue
		}
		in, err := (&App{}).inspectBuiltin(t.Context(), t.TempDir(), h.Name)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, o := range in.Options {
			if o.Top() {
				want[o.Name] = true
			}
		}
		told := strings.Fields(strings.Trim(strings.TrimSpace(row[2]), "| "))
		if len(want) == 0 && strings.Join(told, " ") == "none" {
			told = nil
		}
		for _, o := range told {
			if name := strings.Trim(o, "`"); !want[name] {
				t.Errorf("%s: the page tells of %s", h.Name, o)
			} else {
				delete(want, name)
			}
		}
		if len(want) > 0 {
			t.Errorf("%s: the page leaves out %v", h.Name, want)
		}
		if star := strings.HasSuffix(row[0], " *"); star != strings.Contains(starterText, "builtin:"+h.Name+"\n") {
			t.Errorf("%s: the page says bound by init: %v", h.Name, star)
		}
	}
	for name := range rows {
		t.Errorf("%s is no built-in hook", name)
	}
}
