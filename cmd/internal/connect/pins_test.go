package connect_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

const claudeManaged = "/image/etc/claude-code/managed-settings.json"

// formatted is the document as another program writes it: members in another order, other blanks.
func formatted(t interface{ Fatal(...any) }, src []byte, indent string) []byte {
	var v any
	if err := json.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if indent != "" {
		out, err = json.MarshalIndent(v, "", indent)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// value is what the document says, without objects that are empty.
func value(src []byte) map[string]any {
	out := map[string]any{}
	_ = json.Unmarshal(src, &out)
	for _, name := range []string{"env", "hooks"} {
		if m, ok := out[name].(map[string]any); ok && len(m) == 0 {
			delete(out, name)
		}
	}
	return out
}

// What connect has put into the managed settings is found after a program has formatted them anew:
// disconnect takes out all of it and nothing else, and connect changes nothing.
func TestManagedSettingsThatWereFormatted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := map[string]any{}
		add := func(name string, v any) {
			if rapid.Bool().Draw(t, name) {
				before[name] = v
			}
		}
		add("permissions", map[string]any{"deny": []any{"Read(.env)"}})
		add("allowManagedHooksOnly", true) // the administrator's own
		add("disableSkillShellExecution", true)
		env := map[string]any{"PROXY": "x"}
		if rapid.Bool().Draw(t, "NO_PROXY") {
			env["NO_PROXY"] = "*"
		}
		add("env", env)
		add("hooks", map[string]any{"Stop": []any{map[string]any{"hooks": []any{map[string]any{"type": "command",
			"command": "/bin/true"}}}}})
		src, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		indent := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent")
		h := hook()
		h.SkillShell = rapid.Bool().Draw(t, "skill shell")
		d := disk{claudeManaged: src}
		if _, err := d.do("claude-code", connect.Managed, h, true); err != nil {
			t.Fatal(err)
		}
		d[claudeManaged] = formatted(t, d[claudeManaged], indent)
		connected := value(d[claudeManaged])
		if _, err := d.do("claude-code", connect.Managed, h, true); err != nil {
			t.Fatal(err)
		}
		if got := value(d[claudeManaged]); !reflect.DeepEqual(got, connected) {
			t.Fatalf("connected again: %v, before: %v", got, connected)
		}
		plan, err := d.do("claude-code", connect.Managed, connect.Hook{}, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := value(d[claudeManaged]); !reflect.DeepEqual(got, value(src)) {
			t.Fatalf("disconnected: %v, before: %v (%v)", got, value(src), plan.Notes)
		}
	})
}

// A state directory that has moved is written into settings that were formatted: the entry is belay's.
func TestMovedStateInFormattedSettings(t *testing.T) {
	d := disk{}
	if _, err := d.do("claude-code", connect.Managed, hook(), true); err != nil {
		t.Fatal(err)
	}
	d[claudeManaged] = formatted(t, d[claudeManaged], "    ")
	h := hook()
	h.State = "/srv/belay"
	if _, err := d.do("claude-code", connect.Managed, h, true); err != nil {
		t.Fatal(err)
	}
	if env := value(d[claudeManaged])["env"].(map[string]any); env["BELAY_HOME"] != "/srv/belay" {
		t.Errorf("%v", env)
	}
	if _, err := d.do("claude-code", connect.Managed, connect.Hook{}, false); err != nil || d[claudeManaged] != nil {
		t.Errorf("%s, %v", d[claudeManaged], err)
	}
}

// Settings of versions that wrote no list of their entries are adopted, as long as their marks stand.
func TestSettingsOfOlderVersionsAreAdopted(t *testing.T) {
	d := disk{}
	if _, err := d.do("claude-code", connect.Managed, hook(), true); err != nil {
		t.Fatal(err)
	}
	whole := string(d[claudeManaged])
	at := strings.Index(whole, ",\n    \"BELAY_CONNECT\"")
	older := whole[:at] + whole[at+strings.IndexByte(whole[at+2:], '\n')+2:]
	older = strings.Replace(older, "  \"disableSkillShellExecution\" : true,\n", "", 1)
	for _, again := range []bool{true, false} {
		d[claudeManaged] = []byte(older)
		if again {
			if _, err := d.do("claude-code", connect.Managed, hook(), true); err != nil {
				t.Fatal(err)
			}
			if list := value(d[claudeManaged])["env"].(map[string]any)["BELAY_CONNECT"]; list !=
				"allowManagedHooksOnly disableSkillShellExecution env.BELAY_HOME env.NO_PROXY env.no_proxy" {
				t.Errorf("adopted: %v", list)
			}
			d[claudeManaged] = formatted(t, d[claudeManaged], "\t")
		}
		if _, err := d.do("claude-code", connect.Managed, connect.Hook{}, false); err != nil || d[claudeManaged] != nil {
			t.Errorf("again %v: %s, %v", again, d[claudeManaged], err)
		}
	}
}

// Commands in skills are switched off, unless the administrator wants them: then what belay had put goes.
func TestSkillShell(t *testing.T) {
	with := hook()
	with.SkillShell = true
	d := disk{}
	for n, c := range []struct {
		h    connect.Hook
		want any
	}{{hook(), true}, {with, nil}, {hook(), true}} {
		if _, err := d.do("claude-code", connect.Managed, c.h, true); err != nil {
			t.Fatal(err)
		}
		if got := value(d[claudeManaged])["disableSkillShellExecution"]; got != c.want {
			t.Errorf("%d: %v, want %v", n, got, c.want)
		}
	}
	d = disk{claudeManaged: []byte(`{"disableSkillShellExecution": false}`)}
	if _, err := d.do("claude-code", connect.Managed, hook(), true); !errors.Is(err, connect.ErrConflict) ||
		!strings.Contains(err.Error(), "--allow-skill-shell") {
		t.Errorf("%v", err)
	}
	if _, err := d.do("claude-code", connect.Managed, with, true); err != nil {
		t.Error(err)
	}
}
