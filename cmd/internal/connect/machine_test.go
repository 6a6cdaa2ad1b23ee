package connect_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// machine is a belay-hook of a machine in system mode, and the settings that start it.
func machine(t *testing.T) connect.Hook {
	t.Helper()
	h := connect.Hook{Program: filepath.Join(t.TempDir(), "belay-hook"), Machine: true}
	must(t, os.WriteFile(h.Program, nil, 0o755))
	return h
}

// Settings of system mode name no state directory and no daemon, and hold BELAY_HOME empty where a repository could
// set it.
func TestMachineSettingsNameNoDirectory(t *testing.T) {
	h := machine(t)
	for _, name := range connect.Runtimes() {
		level := connect.User
		if slices.Contains(connect.Levels(name), connect.Managed) {
			level = connect.Managed
		}
		d := disk{}
		_, err := d.do(name, level, h, true)
		must(t, err)
		text := ""
		for path, b := range d {
			settings, _, _ := strings.Cut(string(b), "// ../../internal/ts") // the plugin's own program follows
			text += path + settings
		}
		if !strings.Contains(text, h.Program) || strings.Contains(text, "--state") || strings.Contains(text, "--connect") {
			t.Errorf("%s: %s", name, text)
		}
		if empty := strings.Contains(text, `"BELAY_HOME": ""`) || strings.Contains(text, `"BELAY_HOME" : ""`); empty !=
			(name == "claude-code" || name == "gemini-cli") {
			t.Errorf("%s: BELAY_HOME empty: %v\n%s", name, empty, text)
		}
		_, err = d.do(name, level, connect.Hook{}, false)
		must(t, err)
		for path, b := range d {
			if strings.Contains(string(b), "belay") {
				t.Errorf("%s: after disconnect %s has %s", name, path, b)
			}
		}
	}
}

// A hook asks one of three; none or two of them say nothing.
func TestHookAsksOne(t *testing.T) {
	for _, h := range []connect.Hook{{}, {State: "/s", Machine: true}, {Daemon: "/d", Machine: true},
		{State: "/s", Daemon: "/d"}} {
		h.Program = "/usr/local/bin/belay-hook"
		if h.Check() == nil {
			t.Errorf("%+v", h)
		}
	}
}

// What doctor says of wiring on a machine in system mode: only managed settings that start root's program hold.
func TestExamineMachine(t *testing.T) {
	h := machine(t)
	own := connect.Hook{Program: h.Program, State: "/home/dev/.local/state/belay"}
	other := connect.Hook{Program: h.Program, Daemon: "/srv/other"}
	for name, c := range map[string]struct {
		level      connect.Level
		hook       connect.Hook
		program    string
		allow      bool
		fail, warn string
	}{
		"managed":    {connect.Managed, h, h.Program, false, "", ""},
		"not at all": {"", h, h.Program, false, "it does not ask belay", ""},
		"one user's settings": {connect.User, h, h.Program, false,
			"an agent of this user can take belay's entries out", ""},
		"a state directory": {connect.Managed, own, h.Program, false, "",
			"which does not count on this machine"},
		"a state directory that counts": {connect.Managed, own, h.Program, true, "belay is not asked about",
			"which system.yaml lets count"},
		"another daemon": {connect.Managed, other, h.Program, false, "belay is not asked about",
			"it asks another daemon"},
		"another program": {connect.Managed, h, "/usr/local/bin/belay-hook", false, "",
			"root's program is /usr/local/bin"},
		"another user's daemon, in one's own": {connect.User, other, h.Program, false, "belay is not asked about",
			"it asks another daemon"},
	} {
		d := disk{}
		if c.level != "" {
			_, err := d.do("claude-code", c.level, c.hook, true)
			must(t, err)
		}
		said := map[connect.Severity]string{}
		for _, f := range connect.ExamineMachine("claude-code", place(),
			connect.Machine{Program: c.program, AllowState: c.allow}, d.read) {
			said[f.Severity] += f.Text + "; "
			if f.Severity == connect.Fail && !strings.Contains(f.Advice, "sudo belay system connect claude-code") {
				t.Errorf("%s: %+v: who can mend it is not said", name, f)
			}
		}
		for severity, want := range map[connect.Severity]string{connect.Fail: c.fail, connect.Warn: c.warn} {
			if got := said[severity]; (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s: %s with %q, want %q", name, severity, got, want)
			}
		}
	}
	// A runtime without managed settings can be wired by its user alone.
	found := connect.ExamineMachine("openclaw", place(), connect.Machine{Program: h.Program}, disk{}.read)
	if len(found) != 1 || found[0].Severity != connect.Warn || !strings.Contains(found[0].Advice,
		"`belay connect openclaw`") {
		t.Errorf("%+v", found)
	}
}

// Settings and programs that another account can change are red, whatever level starts them.
func TestExamineMachineOwners(t *testing.T) {
	h := machine(t)
	if os.Geteuid() == 0 {
		must(t, os.Chown(h.Program, 1000, 1000))
	}
	p := place()
	p.Root = ""
	p.Claude = t.TempDir()
	d := disk{}
	plan, err := connect.Make("claude-code", connect.User, p, h, true, d.read)
	must(t, err)
	d[plan.Files[0].Path] = plan.Files[0].New
	for _, f := range connect.ExamineMachine("claude-code", p, connect.Machine{Program: h.Program}, d.read) {
		if f.Severity == connect.Fail && strings.Contains(f.Text, "another program can take the place of belay-hook") {
			return
		}
	}
	t.Error("a belay-hook of this user is not red")
}
