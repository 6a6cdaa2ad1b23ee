package dispatch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// Where the host does not tell what the guard asks, no call that it would judge by that passes.
func TestGuardAllowsNothingItCannotJudge(t *testing.T) {
	g := openGuard(t)
	for _, c := range []struct{ call, errno, tool, args string }{
		{"shell_parse", "budget", "exec", `{"command":"npm test"}`},
		{"shell_parse", "unavailable", "exec", `{"command":"npm test"}`},
		{"shell_parse", "invalid", "exec", `{"command":"npm test"}`},
		{"shell_parse", "denied", "write", `{"file_path":"a.sh","content":"npm test"}`},
		{"path_resolve", "budget", "exec", `{"command":"rm a"}`},
		{"path_resolve", "unavailable", "write", `{"file_path":"a","content":"x"}`},
		{"path_resolve", "denied", "edit", `{"file_path":"a","old_string":"x","new_string":"y"}`},
		{"path_resolve", "too_large", "edit", `{"file_path":"a","old_string":"x","new_string":"y"}`},
		{"path_resolve", "invalid", "apply_patch", `{"command":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`},
	} {
		action := `{"tool":"` + c.tool + `","args":` + c.args + `}`
		res, err := g.hook.Run(t.Context(), &suite.Case{
			Name: c.call, Config: jsontext.Value(guardConfig), Injected: []suite.Injection{{Call: c.call, Errno: c.errno}},
			Input: suite.Input{Phase: phases.PreTool, Action: jsontext.Value(action), CWD: "/home/dev/project"},
		})
		if err != nil || res.Verdict.Decision == phases.Allow || res.Verdict.Decision == "" {
			t.Errorf("%s fails with %s, %s: %s, %v", c.call, c.errno, c.args, res.Verdict.Decision, err)
		}
	}
	for _, budget := range []int64{1_000, 100_000, 150_000} {
		c := suite.Case{Name: "fuel", Config: jsontext.Value(guardConfig),
			Input: suite.Input{Phase: phases.PreTool, CWD: "/home/dev/project",
				Action: jsontext.Value(`{"tool":"exec","args":{"command":"rm -rf a b c; npm test; make; cp a b"}}`)}}
		c.Budget.Fuel = budget
		if res, err := g.hook.Run(t.Context(), &c); err != nil || res.Verdict.Decision != phases.Block {
			t.Errorf("%d units of fuel: %s, %v", budget, res.Verdict.Decision, err)
		}
	}
}

// Whatever a call says, the guard neither traps nor runs out of fuel, and it does not overlook what
// stands beside it.
func FuzzGuard(f *testing.F) {
	g := openGuard(f)
	for _, file := range []string{"third.jsonl"} {
		for i, c := range guardSamples(f, file) {
			if i%9 == 0 {
				f.Add(c.Tool, string(c.Args))
			}
		}
	}
	f.Add("write", `{"file_path":"a.py","content":"'a'+'b' \" , \""}`)
	f.Add("apply_patch", `{"command":"diff --git a/x b/y\n--- \n+++ \n+x"}`)
	f.Add("edit", `{"path":{"path":[{"path":"é\u0000"}]},"new_string":1}`)
	run := func(t *testing.T, tool, args string) (phases.Verdict, bool) {
		raw, err := json.Marshal(map[string]any{"tool": tool, "args": jsontext.Value(args)})
		if err != nil {
			return phases.Verdict{}, false
		}
		res, err := g.hook.Run(t.Context(), &suite.Case{Name: "fuzz", Config: jsontext.Value(guardConfig),
			Input: suite.Input{Phase: phases.PreTool, Action: raw, CWD: "/home/dev/project"}})
		if err != nil {
			return phases.Verdict{}, false // no action
		}
		return res.Verdict, true
	}
	f.Fuzz(func(t *testing.T, tool, args string) {
		v, ok := run(t, tool, args)
		if !ok {
			t.Skip()
		}
		if v.Decision == phases.Block && v.Kind != phases.KindPolicy {
			t.Fatalf("%s %s: %s %s", tool, args, v.Kind, v.Reason)
		}
		var members map[string]jsontext.Value
		if tool != "write" || json.Unmarshal([]byte(args), &members) != nil {
			return
		}
		members["file_path"] = jsontext.Value(`"/home/dev/.claude/settings.json"`)
		worse, err := json.Marshal(members)
		if err != nil {
			return
		}
		if v, ok := run(t, tool, string(worse)); ok && v.Decision == phases.Allow {
			t.Errorf("%s passes", worse)
		}
	})
}

// Of a settings file with any content, hooks are told nothing, that it cannot be read, or a digest. Switching all
// hooks off changes the digest; a permission that does not name belay never does.
func FuzzSettingsAreTold(f *testing.F) {
	for _, s := range []string{`{}`, `{"hooks":{"Stop":[1]},"env":{"A":"b"}}`, `{"hooks":`, `[]`, `{"a":1,"a":2}`,
		"\xff", `{"env":{}}`,
		`{"permissions":{"allow":["Bash(npm test)"]},"model":"x"}`, `{"enabledPlugins":{"a":true},"x":"Belay"}`, `null`, `"hooks"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file := filepath.Join(t.TempDir(), ".claude", "settings.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		told := func(src []byte) string {
			if err := os.WriteFile(file, src, 0o600); err != nil {
				t.Fatal(err)
			}
			return toldOf(t, file)
		}
		was := told(src)
		if was != "" && was != "unreadable" && len(was) != len("sha256:")+64 {
			t.Fatalf("%q: %q", src, was)
		}
		var members map[string]jsontext.Value
		if was == "unreadable" || json.Unmarshal(src, &members) != nil || members == nil {
			return
		}
		change := func(name, value string) string {
			again := map[string]jsontext.Value{}
			for k, v := range members {
				again[k] = v
			}
			again[name] = jsontext.Value(value)
			raw, err := json.Marshal(again)
			if err != nil {
				t.Skip(err)
			}
			return told(raw)
		}
		if _, there := members["disableAllHooks"]; !there && change("disableAllHooks", "true") == was {
			t.Errorf("%q: disableAllHooks changes nothing", src)
		}
		if _, there := members["model"]; !there && change("model", `"opus"`) != was {
			t.Errorf("%q: a model changes what counts", src)
		}
	})
}
