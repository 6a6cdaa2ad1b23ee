package cli

import (
	"context"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/sysinstall"
)

// examineSystem says what of an installation in system mode deviates; nothing where the machine is not in it.
func (a *App) examineSystem(ctx context.Context) []finding {
	if !daemonapi.SystemMode() {
		return nil
	}
	t, err := sysinstall.OpenTree("/")
	if err != nil {
		return []finding{{Check: systemCheck, Status: "fail", Text: err.Error(), Advice: "`belay system status` shows more."}}
	}
	defer t.Close()
	rows, _ := t.Status()
	return systemFindings(append(rows, t.Live(ctx)...))
}

// systemCheck is what findings about system mode are called.
const systemCheck = "system mode"

// systemFindings is a status as doctor says it: what is good in one line, all else in lines of its own.
func systemFindings(rows []sysinstall.Row) []finding {
	out := []finding{{Check: systemCheck, Status: "ok", Text: plural(len(rows), "part") + " looked at; `belay system status` shows each"}}
	for _, r := range rows {
		f := finding{Check: systemCheck, Status: "warn", Text: r.What + ": " + r.Text, Advice: r.Advice}
		switch r.State {
		case sysinstall.Good:
			continue
		case sysinstall.Bad:
			f.Status = "fail"
		}
		out = append(out, f)
	}
	return out
}
