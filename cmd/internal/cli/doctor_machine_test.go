package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/system"
)

// Where the daemon of the machine is away, doctor and status are red, and say whom to call. A state directory of one's
// own says nothing then.
func TestDaemonAwayIsRedInSystemMode(t *testing.T) {
	config := system.Config{Contact: "the platform team"}
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}, {"status"}, {"status", "--json"}} {
		app, out := systemApp(t, 1000, t.TempDir(), config)
		if code := app.Main(t.Context(), args); code != ExitError {
			t.Errorf("%v: %d", args, code)
		}
		text := out.String()
		if !strings.Contains(text, "the platform team") || strings.Contains(text, "`belay init`") ||
			strings.Contains(strings.ReplaceAll(text, "NOT READY", ""), "READY") || strings.Contains(text, `"ready":true`) {
			t.Errorf("%v\n%s", args, text)
		}
	}
}

// doctor says each thing that does not hold, and that it is root's to mend.
func TestDoctorInSystemMode(t *testing.T) {
	rows := func(app *App) map[string]finding {
		t.Helper()
		var found []finding
		out := map[string]finding{}
		app.Main(t.Context(), []string{"doctor", "--json"})
		if err := json.Unmarshal([]byte(app.Out.(interface{ String() string }).String()), &found); err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			out[f.Check+" "+f.Status] = f
		}
		return out
	}
	app, _ := systemApp(t, 1000, t.TempDir(), system.Config{AllowState: true})
	got := rows(app)
	for key, says := range map[string]string{
		"system.yaml ok":   "is root's, and valid",
		"system.yaml warn": "allow_state",
		"contact warn":     "not told whom to call",
		"daemon fail":      "",
	} {
		if f, ok := got[key]; !ok || !strings.Contains(f.Text, says) || f.Status != "ok" && !strings.Contains(f.Advice,
			"Root: ") {
			t.Errorf("%s: %+v", key, f)
		}
	}
	app, _ = systemApp(t, 1000, t.TempDir(), system.Config{})
	app.LoadSystem = func() (*system.Config, error) {
		return nil, &system.Error{Path: "/etc/belay/system.yaml", Reason: "can be written by others than root",
			Class: system.ErrUntrusted}
	}
	if f := rows(app)["system.yaml fail"]; !strings.Contains(f.Text, "can be written by others") ||
		!strings.Contains(f.Advice, "root has mended it") {
		t.Errorf("%+v", f)
	}
	app, _ = systemApp(t, 1000, t.TempDir(), system.Config{})
	app.LoadSystem = func() (*system.Config, error) { return nil, errors.Join(system.ErrNone) }
	if _, ok := rows(app)["system.yaml ok"]; ok {
		t.Error("a machine without system mode is looked at as one in it")
	}
}
