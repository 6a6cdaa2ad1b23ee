package dispatch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// host answers as it is told to and notes its invocations.
type host struct {
	invoke  func(phases.Invocation, kernel.InvokeOptions) (phases.Verdict, error)
	lost    bool // refusals cannot be recorded
	options []kernel.InvokeOptions
	refused []kernel.Refusal
}

func (h *host) InvokeWith(_ context.Context, inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
	h.options = append(h.options, o)
	return h.invoke(inv, o)
}

func (h *host) Refuse(_ context.Context, r kernel.Refusal) (phases.Verdict, error) {
	h.refused = append(h.refused, r)
	v := phases.Verdict{ID: "r", Decision: phases.Block, Reason: r.Fault.Text, Kind: r.Fault.Kind}
	if h.lost {
		return v, errors.New("no store")
	}
	v.Event = &phases.EventRef{Seq: 1, ID: "e"}
	return v, r.Fault
}

func allow(inv phases.Invocation, _ kernel.InvokeOptions) (phases.Verdict, error) {
	return phases.Verdict{ID: inv.ID, Phase: inv.Phase, Decision: phases.Allow, Action: inv.Action,
		Event: &phases.EventRef{Seq: 1, ID: "e"}}, nil
}

const wire = `{"phase":"pre_tool","runtime":"custom","session":"s","action":{"tool":"exec","call_id":"c","args":{"command":"ls"}}}`

func event(name, more string) []byte {
	return []byte(`{"session_id":"s-1","transcript_path":"/t","cwd":"/","permission_mode":"default","hook_event_name":"` +
		name + `"` + more + `}`)
}

// Hooks read the script that an agent of one's own would run, as they do a runtime's.
func TestWireTellsWhatAScriptHolds(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.sh"), []byte("rm -rf ~\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told jsontext.Value
	h := &host{invoke: func(inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
		told = inv.Metadata["runs"]
		return allow(inv, o)
	}}
	src := `{"phase":"pre_tool","cwd":"` + dir + `","metadata":{"runs":[]},` +
		`"action":{"tool":"exec","args":{"command":"sh x.sh"}}}`
	if v, err := dispatch.Wire(t.Context(), h, []byte(src)); err != nil || v.Decision != phases.Allow {
		t.Fatalf("%+v %v", v, err)
	}
	if text, _ := phases.GetString(told, "/0/text"); text != "rm -rf ~\n" {
		t.Errorf("hooks are told %s", told)
	}
}

func TestWire(t *testing.T) {
	h := &host{invoke: allow}
	if v, err := dispatch.Wire(t.Context(), h, []byte(wire)); err != nil || v.Decision != phases.Allow ||
		len(h.refused) != 0 {
		t.Fatalf("%+v %v", v, err)
	}
	v, err := dispatch.Wire(t.Context(), h, []byte(`{"phase":"pre_tool"}`))
	var d *phases.DecodeError
	if v.Decision != phases.Block || v.Event == nil || !errors.Is(err, dispatch.ErrInvocation) || !errors.As(err, &d) ||
		len(h.refused) != 1 {
		t.Errorf("no invocation: %+v %v, %d refusals", v, err, len(h.refused))
	}
	for name, f := range map[string]func(phases.Invocation, kernel.InvokeOptions) (phases.Verdict, error){
		"panic":       func(phases.Invocation, kernel.InvokeOptions) (phases.Verdict, error) { panic("x") },
		"no decision": func(phases.Invocation, kernel.InvokeOptions) (phases.Verdict, error) { return phases.Verdict{}, nil },
		"an unknown decision": func(phases.Invocation, kernel.InvokeOptions) (phases.Verdict, error) {
			return phases.Verdict{Decision: "yes"}, nil
		},
		"allow and an error": func(inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
			v, _ := allow(inv, o)
			return v, errors.New("x")
		},
		"ask and an error": func(phases.Invocation, kernel.InvokeOptions) (phases.Verdict, error) {
			return phases.Verdict{Decision: phases.Ask}, errors.New("x")
		},
	} {
		for _, lost := range []bool{false, true} {
			if v, err := dispatch.Wire(t.Context(), &host{invoke: f, lost: lost}, []byte(wire)); err != nil ||
				v.Decision != phases.Block || v.Reason == "" {
				t.Errorf("%s: %+v %v", name, v, err)
			}
		}
	}
}

// The runtime's abilities are passed on, and an undecided payload is recorded,
// with a latch where the answer alone holds nothing.
func TestRuntime(t *testing.T) {
	ad := claudecode.New()
	bash := event("PreToolUse", `,"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"`)
	h := &host{invoke: allow}
	out := dispatch.Runtime(t.Context(), h, ad, bash, adapters.Options{})
	if out.Err != nil || string(out.Answer.Stdout) != "{}" || len(out.Verdicts) != 1 || len(h.refused) != 0 {
		t.Fatalf("%+v", out)
	}
	if o := h.options[0]; o.Unblockable || !o.Delegated || o.HoldsScopes {
		t.Errorf("of a tool call: %+v", o)
	}
	h = &host{invoke: allow}
	dispatch.Runtime(t.Context(), h, ad, event("SessionStart", `,"source":"startup"`), adapters.Options{})
	if len(h.options) != 1 || !h.options[0].Unblockable {
		t.Errorf("of a start: %+v", h.options)
	}

	for name, c := range map[string]struct {
		payload []byte
		event   string
		says    string
		latches bool
	}{
		"bytes":                   {[]byte("garbage"), "PreToolUse", "deny", false},
		"bytes for no event":      {[]byte("garbage"), "", "", true},
		"a start cut off":         {event("SessionStart", "")[:60], "SessionStart", "systemMessage", true},
		"another event":           {bash, "Stop", `"continue":false`, false},
		"an unknown event":        {event("Frobnicate", ""), "", "", true},
		"a tool without its name": {event("PreToolUse", ""), "PreToolUse", "deny", false},
	} {
		h := &host{invoke: allow}
		out := dispatch.Runtime(t.Context(), h, ad, c.payload, adapters.Options{Event: c.event})
		if out.Err == nil || !strings.Contains(string(out.Answer.Stdout), c.says) || len(h.refused) != 1 ||
			h.refused[0].Unblockable != c.latches {
			t.Errorf("%s: %s, err %v, refusals %+v", name, out.Answer.Stdout, out.Err, h.refused)
		}
		if last := out.Verdicts[len(out.Verdicts)-1]; last.Decision != phases.Block {
			t.Errorf("%s: %s", name, last.Decision)
		}
	}

	// The host fails: block, whatever the event and however it fails.
	for _, lost := range []bool{false, true} {
		h := &host{lost: lost, invoke: func(phases.Invocation, kernel.InvokeOptions) (phases.Verdict, error) { panic("x") }}
		if out := dispatch.Runtime(t.Context(), h, ad, bash, adapters.Options{Event: "PreToolUse"}); out.Err == nil ||
			!strings.Contains(string(out.Answer.Stdout), "deny") || len(h.refused) != 1 {
			t.Errorf("a panic: %s %v", out.Answer.Stdout, out.Err)
		}
	}

	// A block that the event cannot carry latches; if not even that can be
	// recorded, the answer is the strongest no there is.
	policy := event("ConfigChange", `,"source":"policy_settings","file_path":"/x"`)
	block := func(inv phases.Invocation, _ kernel.InvokeOptions) (phases.Verdict, error) {
		v, _ := allow(inv, kernel.InvokeOptions{})
		v.Decision, v.Reason, v.Kind, v.Enforced = phases.Block, "no", phases.KindPolicy, phases.EnforcedDirect
		return v, nil
	}
	for _, lost := range []bool{false, true} {
		h := &host{invoke: block, lost: lost}
		out := dispatch.Runtime(t.Context(), h, ad, policy, adapters.Options{Event: "ConfigChange"})
		if len(h.refused) != 1 || !h.refused[0].Unblockable || h.refused[0].Invocation.Session != "s-1" {
			t.Errorf("lost %v: no latch: %+v", lost, h.refused)
		}
		if lost != (out.Err != nil) || lost != (out.Answer.Exit == 2) {
			t.Errorf("lost %v: %+v", lost, out)
		}
	}
}

func TestRefuseRuntime(t *testing.T) {
	h := &host{}
	f := phases.NewFault(phases.KindDeadline, "too many", nil)
	out := dispatch.RefuseRuntime(t.Context(), h, claudecode.New(), event("UserPromptSubmit", ""),
		adapters.Options{Event: "UserPromptSubmit"}, f)
	if !strings.Contains(string(out.Answer.Stdout), `"decision":"block"`) || len(h.refused) != 1 ||
		h.refused[0].Fault != f || h.refused[0].Invocation.Session != "s-1" {
		t.Errorf("%s %+v", out.Answer.Stdout, h.refused)
	}
}

// An invalid event that has happened already names the session to hold; text
// that is no JSON names none.
func TestWireAuditThatIsNotValid(t *testing.T) {
	for src, want := range map[string]phases.Invocation{
		`{"phase":"audit","runtime":"custom","session":"s-1","agent":"a","action":{"kind":7}}`: {Phase: phases.Audit,
			Runtime: "custom", Session: "s-1", Agent: "a"},
		`{"phase":"audit","runtime":"custom","session":"s-1"}`: {Phase: phases.Audit,
			Runtime: "custom", Session: "s-1"},
		`{"phase":"audit","session":"s-1","session":"s-2","action":{"kind":"x"}}`: {},
		`{"phase":"audit","runtime":"custom","session":7,"action":{"kind":"x"}}`: {Phase: phases.Audit,
			Runtime: "custom"},
		`{"phase":"audit","runtime":"custom","session":"s-1","action":{"kind":"notification"}`: {},
	} {
		h := &host{invoke: allow}
		if v, err := dispatch.Wire(t.Context(), h, []byte(src)); v.Decision != phases.Block ||
			!errors.Is(err, dispatch.ErrInvocation) || len(h.refused) != 1 {
			t.Fatalf("%s: %s %v", src, v.Decision, err)
		}
		got := h.refused[0]
		if got.Invocation.Session != want.Session || got.Invocation.Phase != want.Phase ||
			got.Invocation.Runtime != want.Runtime || !got.Unread || string(got.Raw) != src {
			t.Errorf("%s: %+v", src, got)
		}
	}
}

// A command of a runtime that shows no hook what is typed into it is asked about with that.
func TestOpenShellsReachTheKernel(t *testing.T) {
	for tool, want := range map[string]bool{"Bash": true, "apply_patch": false} {
		h := &host{invoke: allow}
		out := dispatch.Runtime(t.Context(), h, codex.New(), event("PreToolUse",
			`,"tool_name":"`+tool+`","tool_input":{"command":"bash"},"tool_use_id":"t"`), adapters.Options{})
		if out.Err != nil || len(h.options) != 1 || h.options[0].UnseenInput != want {
			t.Errorf("%s: %+v, %+v", tool, h.options, out)
		}
	}
}

// A caller that holds the action to its scopes itself is told, by each way in, what it must enforce.
func TestWireSaysWhatTheCallerEnforces(t *testing.T) {
	h := &host{invoke: func(inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
		v, err := allow(inv, o)
		v.Scopes = inv.Scopes
		return v, err
	}}
	for says, want := range map[string]bool{"true": true, "false": false} {
		src := `{"phase":"pre_tool","holds_scopes":` + says + `,"scopes":{"fs_read":["/w/**"],"fs_write":["*"],"net":["*"],` +
			`"tools":["*"]},"action":{"tool":"read","args":{"file_path":"/w/a"}}}`
		v, err := dispatch.Wire(t.Context(), h, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		const note = "you must enforce: read only /w/**. belay has not held the action to these scopes"
		if slices.Contains(v.Notes, note) != want {
			t.Errorf("holds_scopes %s: %q", says, v.Notes)
		}
	}
}
