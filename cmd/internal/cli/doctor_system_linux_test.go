package cli

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sysinstall"
)

// What is red in `belay system status` is red in doctor: Landlock that is not in force, hooks on the interpreter.
func TestDoctorSaysWhatDeviatesInSystemMode(t *testing.T) {
	got := systemFindings([]sysinstall.Row{
		{What: "daemon", State: sysinstall.Good, Text: "answers"},
		{What: "process", State: sysinstall.Warn, Text: "has ended"},
		{What: "Landlock", State: sysinstall.Bad, Text: "not in force", Advice: "a newer kernel"},
		{What: "engine", State: sysinstall.Bad, Text: "interpreter"},
	})
	want := []string{"ok 4 parts looked at; `belay system status` shows each", "warn process: has ended",
		"fail Landlock: not in force", "fail engine: interpreter"}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, f := range got {
		if f.Status+" "+f.Text != want[i] || f.Check != systemCheck {
			t.Errorf("%+v, want %s", f, want[i])
		}
	}
	if got[2].Advice != "a newer kernel" {
		t.Errorf("%+v", got[2])
	}
}
