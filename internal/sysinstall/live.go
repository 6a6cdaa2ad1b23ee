//go:build linux

package sysinstall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/belay-hooks/belay/internal/confine"
	"github.com/belay-hooks/belay/internal/system"
)

// Live says how the daemon of this machine stands: its sockets, its answer, its walls and its engine.
func (t *Tree) Live(ctx context.Context) []Row {
	rows := t.sockets()
	if err := Answers(ctx); err != nil {
		says := ""
		if Booted() {
			says = Systemd{}.Why(ctx)
		}
		rows = append(rows, Row{What: "daemon", State: Bad, Text: "does not answer: " + because(err, says) +
			"; every question is blocked", Advice: "systemctl start " + Sockets()[0] + " " + Sockets()[1] +
			"; journalctl -u " + Service + " says why"})
	} else {
		rows = append(rows, Row{What: "daemon", State: Good, Text: "answers"})
	}
	rows = append(append(rows, t.toolsSocket()), toolsRows(ctx)...)
	rows = append(rows, unitRows(ctx)...)
	report, err := confine.ReadReport(system.StateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return append(rows, Row{What: "process", State: Warn, Text: "the daemon has not started yet: the first question starts it"})
	case err != nil:
		return append(rows, rowOf("process", err))
	}
	return append(rows, processRows(report, confine.ProcessOf(report.PID))...)
}

// sockets looks at what agents connect to.
func (t *Tree) sockets() []Row {
	var rows []Row
	for _, name := range []string{"belay.sock", "frame.sock"} {
		file := path.Join(system.RunDir, name)
		f, err := t.look(file)
		switch {
		case err != nil:
			rows = append(rows, rowOf(file, err))
		case !f.here:
			rows = append(rows, Row{What: file, State: Bad, Text: "is missing: every question is blocked",
				Advice: "systemctl start " + Sockets()[0] + " " + Sockets()[1]})
		case f.mode.Type() != fs.ModeSocket:
			rows = append(rows, Row{What: file, State: Bad, Text: "is " + kindOf(f.mode), Advice: "Look at it, and remove it."})
		case f.mode.Perm()&0o222 != 0o222:
			rows = append(rows, Row{What: file, State: Bad, Text: fmt.Sprintf("has mode %04o: not everyone can ask",
				f.mode.Perm()), Advice: "chmod 0666 " + file})
		default:
			rows = append(rows, Row{What: file, State: Good, Text: fmt.Sprintf("socket, %04o", f.mode.Perm())})
		}
	}
	return rows
}

// answerTime is how long a daemon that has to be started may take to answer.
const answerTime = 15 * time.Second

// Answers asks the daemon of this machine anything. Any answer over HTTP is one: it may say that this user
// may not ask.
func Answers(ctx context.Context) error { return answers(ctx, path.Join(system.RunDir, "belay.sock")) }

func answers(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://belay/healthz", nil)
	if err != nil {
		return err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// processRows says what holds the daemon's process in, and how it runs hooks.
func processRows(r confine.Report, process confine.Process) []Row {
	if process["Name"] != "belay" { // it has ended, and another program may have its number
		return []Row{{What: "process", State: Warn, Text: fmt.Sprintf("the last one, %d, has ended: the next question starts another", r.PID)}}
	}
	rows := []Row{{What: "process", State: Good, Text: fmt.Sprintf("%d, belay %s, since %s", r.PID, r.Version,
		r.Started.Local().Format(time.DateTime))}}
	if r.Landlock > 0 {
		rows = append(rows, Row{What: "Landlock", State: Good, Text: "in force, version " + strconv.Itoa(r.Landlock)})
	} else {
		rows = append(rows, Row{What: "Landlock", State: Bad, Text: "not in force: this kernel has none, or it is switched off",
			Advice: "Linux 5.13 or newer with landlock in lsm= of the kernel's command line"})
	}
	if process.NoNewPrivs() && process.Filtered() && process.Powerless() {
		rows = append(rows, Row{What: "unit", State: Good, Text: "its filters of system calls and capabilities hold"})
	} else {
		rows = append(rows, Row{What: "unit", State: Bad,
			Text:   "the filters of " + Service + " do not hold: something else started the daemon, or a drop-in took them away",
			Advice: "systemctl cat " + Service + "; systemctl restart " + Service})
	}
	if r.Log == "" {
		rows = append(rows, Row{What: "machine's log", State: Good, Text: "can be written"})
	} else {
		rows = append(rows, Row{What: "machine's log", State: Bad, Text: "cannot be written: " + r.Log +
			"; refused callers are counted until it can", Advice: "belay --state " + system.MachineDir(system.StateDir) +
			" doctor"})
	}
	if r.Engine == confine.Compiler {
		rows = append(rows, Row{What: "engine", State: Good, Text: "compiler"})
	} else {
		rows = append(rows, Row{What: "engine", State: Bad, Text: "interpreter: hooks run about 40 times slower",
			Advice: "Memory may not be made executable. Take MemoryDenyWriteExecute= out of drop-ins: systemctl cat " + Service})
	}
	return rows
}
