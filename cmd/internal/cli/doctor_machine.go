package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/system"
)

// examineMachine says what of system mode holds for this user, row by row. What does not hold is root's to mend.
func (a *App) examineMachine(ctx context.Context) []finding {
	config, out := a.examineSystemFile()
	contact := ""
	if config != nil {
		contact = config.Contact
	}
	out = append(out, a.examineMachineDaemon(ctx, contact)...)
	out = append(out, a.examineSystem(ctx)...)
	m := connect.Machine{Program: machineHook(), AllowState: config != nil && config.AllowState}
	out = append(out, a.examineWiringBy(ctx, func(name string, place connect.Place) []connect.Finding {
		return connect.ExamineMachine(name, place, m, connect.Writer{}.Read)
	})...)
	out = append(out, a.examineOwn(m.AllowState)...)
	return append(out, examineBuild()...)
}

// examineSystemFile says whether system.yaml is root's, and what it lets users do.
func (a *App) examineSystemFile() (*system.Config, []finding) {
	path := filepath.Join(a.places().Config, system.File)
	config, err := a.loadSystem()
	if err != nil {
		return nil, []finding{{Check: "system.yaml", Status: "fail", Text: err.Error(),
			Advice: "Every action is blocked until root has mended it."}}
	}
	out := []finding{{Check: "system.yaml", Status: "ok", Text: path + " is root's, and valid"}}
	if config.AllowState {
		out = append(out, finding{Check: "system.yaml", Status: "warn", Red: true,
			Text:   "allow_state: a user's agent can name a state directory of its own, and is not held by the machine's hooks then",
			Advice: "Root: take allow_state out of " + path + "."})
	}
	if config.Contact == "" {
		return config, append(out, finding{Check: "contact", Status: "warn",
			Text:   "none: a person whose agent is blocked is not told whom to call",
			Advice: "Root: say contact: in " + path + "."})
	}
	return config, append(out, finding{Check: "contact", Status: "ok", Text: config.Contact})
}

// examineMachineDaemon asks the daemon of the machine, and says who it is and whether it can decide.
func (a *App) examineMachineDaemon(ctx context.Context, contact string) (out []finding) {
	fail := func(check, text, advice string) {
		out = append(out, finding{Check: check, Status: "fail", Text: text, Advice: advice})
	}
	warn := func(check, text, advice string) {
		out = append(out, finding{Check: check, Status: "warn", Text: text, Advice: advice})
	}
	ok := func(check, text string) { out = append(out, finding{Check: check, Status: "ok", Text: text}) }
	away := "Every action is blocked. "
	if contact != "" {
		away += "Call " + contact + ". "
	}
	away += "Root: systemctl status belay.socket belay.service; journalctl -u belay"
	c, err := client.Dial(a.places().Run)
	if err != nil {
		fail("daemon", err.Error(), away)
		return out
	}
	defer c.Close()
	if err := alive(ctx, c); err != nil {
		e := new(exitError)
		errors.As(err, &e)
		fail("daemon", cmp.Or(e.text, err.Error()), away)
		return out
	}
	st, err := c.Status(ctx)
	if err != nil {
		fail("daemon", "it answers, and does not say how it stands: "+err.Error(), away)
		return out
	}
	hooks, err := c.Hooks(ctx)
	if err != nil {
		fail("daemon", "it answers, and does not say which hooks run: "+err.Error(), away)
		return out
	}
	ok("daemon", "answers")
	if st.Daemon != nil {
		out = append(out, a.examineDaemonUser(st.Daemon.PID))
		examineConnections(st.Daemon, ok, warn)
		out = append(out, examineMachine(st.Daemon.Machine)...)
	}
	reasons := notReady(&st, hooks)
	for _, r := range reasons {
		fail("ready", r, "Root: `belay --state "+system.UserDir(a.places().State, a.Geteuid())+" status` says more.")
	}
	if len(reasons) == 0 {
		ready := 0
		for _, h := range hooks {
			if !h.Disabled {
				ready++
			}
		}
		ok("ready", plural(ready, "hook")+" decide about this user's agents")
	}
	for n := range st.Latches {
		l := &st.Latches[n]
		warn("latch", fmt.Sprintf("%s, kind %s: %s", holds(l), l.Cause, oneLine(l.Reason, 100)),
			"Root, or a reviewer that system.yaml names for you, clears it.")
	}
	if st.Engine == "compiler" {
		ok("engine", "compiler")
	} else {
		fail("engine", "the daemon runs hooks on the interpreter: about 40 times slower",
			"Root: take MemoryDenyWriteExecute= out of the unit's drop-ins.")
	}
	return append(out, a.examineSessions(ctx, c, "", st.Gone)...)
}

// examineDaemonUser says whom the daemon runs as. An agent controls each process of its own user.
func (a *App) examineDaemonUser(pid int) finding {
	f := finding{Check: "daemon's user", Status: "ok"}
	fi, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	uid, known := 0, false
	if err == nil {
		uid, known = peercred.Owner(fi)
	}
	if !known { // its state directory says it as well
		if fi, err = os.Lstat(a.places().State); err == nil {
			uid, known = peercred.Owner(fi)
		}
	}
	switch {
	case !known:
		return finding{Check: f.Check, Status: "warn", Text: "cannot be told here", Advice: "Root: `belay system status`."}
	case uid == a.Geteuid() && uid != 0:
		return finding{Check: f.Check, Status: "fail", Text: "the daemon runs as you: your agents can stop and change it",
			Advice: "Root: `belay system status` says who it has to be."}
	case uid == 0:
		return finding{Check: f.Check, Status: "fail", Text: "the daemon runs as root: what takes it over has the machine",
			Advice: "Root: `belay system status` says who it has to be."}
	}
	f.Text = accountName(uid)
	return f
}

func accountName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username + " (uid " + id + ")"
	}
	return "uid " + id
}

// examineOwn tells of a state directory of the user's own, which their agents may have been led to before.
func (a *App) examineOwn(counts bool) (out []finding) {
	if named := cmp.Or(a.state, a.Getenv("BELAY_HOME")); named != "" && !counts {
		out = append(out, finding{Check: "own state", Status: "warn", Text: named + " was named, and does not count here",
			Advice: "Leave out --state, and take BELAY_HOME out of the environment."})
	}
	// The directory is looked for without stateDir, by which root would give up its rights.
	dir, err := hookcmd.StateDir("", func(name string) string {
		if name == "BELAY_HOME" {
			return ""
		}
		return a.Getenv(name)
	}, a.Getwd)
	if err != nil || strings.HasPrefix(dir, a.places().State) {
		return out
	}
	if _, err := os.Stat(filepath.Join(dir, "keys")); err == nil {
		out = append(out, finding{Check: "own state", Status: "ok", Text: dir + " is from before system mode, and does not decide",
			Advice: "Root takes its log over: `belay system import " + dir + " --user NAME`."})
	}
	return out
}
