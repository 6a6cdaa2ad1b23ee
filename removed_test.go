package belay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// What a hook takes out of an action is not recorded, although belay would not know
// it for a secret: not in the action as it came in, not in what the hooks before and
// after it said. The rest of the action stays.
func TestWhatAHookTakesOutIsNotOnRecord(t *testing.T) {
	const w, short = "blue-Heron.Tuesday", "xyz"
	said := "deploying with " + w
	q, _ := json.Marshal(said)
	speaks := babbler(0, spoken{"log", []string{"\x00", said}}, spoken{"annotate", []string{"note", string(q)}},
		spoken{"state_put", []string{"note", said}},
		spoken{"add_context", []string{said}}, spoken{"request_approval", []string{`{"reason":` + string(q) + `}`}})
	rewrite := func(path, value string) spoken { return spoken{"rewrite", []string{path, value, "\x00"}} }
	const clean = "deploy --to production --with [gone] --keep everything else"
	find := spoken{"find_secrets", []string{"x"}}
	for name, c := range map[string]struct {
		module  []byte
		redacts string // as the binding says; "" for nothing
		first   string // what another hook makes of the command before
		hides   bool
	}{
		"imports find_secrets": {babbler(0, find, rewrite("/args/command", clean), rewrite("/args/pin", "[gone]")), "", "",
			true},
		"is said to redact": {babbler(0, rewrite("/args/command", clean), rewrite("/args/pin", "[gone]")), "true", "",
			true},
		"redacts by name": {babbler(0, spoken{"redact", []string{"/args/command", "acme"}},
			spoken{"redact", []string{"/args/pin", "acme"}}), "", "", true},
		"does not": {babbler(0, rewrite("/args/command", clean), rewrite("/args/pin", "[gone]")), "", "", false},
		"is said not to": {babbler(0, find, rewrite("/args/command", clean), rewrite("/args/pin", "[gone]")), "false",
			"", false},
		"a step before it": {babbler(0, find, rewrite("/args/command", clean), rewrite("/args/pin", "[gone]")), "",
			"deploy  --to production --with " + w + " --keep everything else", true},
		"takes the member": {babbler(0, find, rewrite("/args/command", "ls"), rewrite("/args/pin", "0")), "", "", true},
	} {
		dir := t.TempDir()
		hooks := []belay.AdHocHook{{Name: "speaks", Module: speaks, Priority: 50},
			{Name: "takes", Module: c.module, Priority: 10}}
		if c.first != "" {
			hooks = append(hooks,
				belay.AdHocHook{Name: "first", Priority: 20, Module: babbler(0, rewrite("/args/command", c.first))})
		}
		write(t, filepath.Join(dir, "belay.yaml"), "version: belay/v1\nevents:\n  sinks:\n    - jsonl: {path: "+dir+
			"/out/events.jsonl}\n")
		if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.redacts != "" {
			says := c.redacts == "true"
			hooks[1].Redacts = &says
		}
		host := open(t, dir, belay.Options{Hooks: hooks})
		inv, err := phases.DecodeInvocation(
			[]byte(`{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","call_id":"c","args":{"command":"deploy --to production --with ` + w + ` --keep everything else","pin":"` + short + `","cwd":"/srv/` + w + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		v, _ := host.Invoke(t.Context(), inv)
		if v.Event == nil || v.Decision != phases.Ask {
			t.Fatalf("%s: %+v", name, v)
		}
		host.Close()
		left := traces(t, filepath.Join(dir, "out"), w)
		db := traces(t, dir, w)
		events := content(t, filepath.Join(dir, "out/events.jsonl"))
		if pin := strings.Contains(events, `"pin":"`+short); (len(left)+len(db) > 0 || pin) == c.hides {
			t.Errorf("%s: pin %v, %d left: %v", name, pin, len(left)+len(db), left)
		}
		if c.hides && strings.Contains(name, "find_secrets") &&
			!strings.Contains(events, `"command":"deploy --to production --with [redacted:removed-18:`) {
			t.Errorf("%s: more is covered than was taken out: %s", name, events)
		}
	}
}
