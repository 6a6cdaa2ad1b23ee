package cli

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/machinelog"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/confine"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/system"
)

// newMachineLog returns the log of what belongs to no user. A disk on which it cannot be written keeps no user from
// being served: their own logs have what is decided, and who is refused stays refused. The status is red until it can.
func (m *machine) newMachineLog(report confine.Report, revision string) *machinelog.Log {
	return machinelog.New(machinelog.Options{Open: m.openMachineLog, Name: knownName, Version: version(), PID: os.Getpid(),
		Revision: revision, Logger: m.log, Trouble: func(why string) {
			report.Log = why
			if err := report.Write(m.places.State); err != nil {
				m.log.LogAttrs(context.Background(), slog.LevelError, "the daemon's report cannot be written", slog.Any("error",
					err))
			}
		}})
}

// logUntilEnd writes the log until the returned function is called, which waits for what is left.
func (m *machine) logUntilEnd(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.events.Run(ctx)
	}()
	return func() { cancel(); <-done }
}

// knownName is what events call a user, or "" where the machine has no name for the uid.
func knownName(uid int) string {
	if name := nameOf(uid); name != fmt.Sprint(uid) {
		return name
	}
	return ""
}

// machineHost is the state directory of the machine's log.
type machineHost struct {
	*belay.Belay
	retained chan struct{}
	stop     context.CancelFunc
}

// openMachineLog opens the state directory. No hook is bound there, and nothing is decided by it.
func (m *machine) openMachineLog(ctx context.Context) (machinelog.Host, error) {
	dir := system.MachineDir(m.places.State)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := m.configureMachineLog(); err != nil {
		return nil, err
	}
	host, err := m.a.openState(ctx, dir, belay.Options{Logger: m.log.With(slog.String("of", "the machine's log")),
		NoToolPrograms: true})
	if err != nil {
		return nil, err
	}
	retaining, stop := context.WithCancel(context.Background())
	h := &machineHost{Belay: host, retained: make(chan struct{}), stop: stop}
	go func() {
		defer close(h.retained)
		statelog.Of(host.Log()).Retain(retaining)
	}()
	m.logHost.Store(h)
	return h, nil
}

// followMachineLog has the log retain its events as the organisation's file says now.
func (m *machine) followMachineLog(ctx context.Context) {
	h := m.logHost.Load()
	if h == nil {
		return
	}
	changed, err := m.configureMachineLog()
	if err == nil && changed {
		err = h.Reload(ctx)
	}
	if err != nil {
		m.log.LogAttrs(ctx, slog.LevelError, "the machine's log retains its events as before", slog.Any("error", err))
	}
}

// Close implements machinelog.Host.
func (h *machineHost) Close() error {
	h.stop()
	<-h.retained
	return h.Belay.Close()
}

// configureMachineLog has the log retain its events as long as the organisation's file says. Nothing else of that
// counts there: a sink belongs to the log of one user.
func (m *machine) configureMachineLog() (changed bool, err error) {
	path := filepath.Join(system.MachineDir(m.places.State), config.FileName)
	before, err := readIf(path)
	if err != nil {
		return false, err
	}
	text := []byte(config.Empty)
	src, err := m.places.Organisation(config.FileName)
	if err == nil {
		var f *config.File
		if f, err = config.Parse(src); err == nil {
			text = machineLogConfig(&f.Events)
		}
	}
	if err != nil && before != nil {
		return false, nil // what holds for users is told elsewhere
	}
	return !bytes.Equal(before, text), replaceIf(path, before, text)
}

func machineLogConfig(e *config.Events) []byte {
	text := config.Empty
	switch {
	case e.Retention.Days > 0 && e.Compaction.MinAge != "":
		text += fmt.Sprintf("events: {retention: {days: %d}, compaction: {min_age: %q}}\n", e.Retention.Days, e.Compaction.MinAge)
	case e.Retention.Days > 0:
		text += fmt.Sprintf("events: {retention: {days: %d}}\n", e.Retention.Days)
	case e.Compaction.MinAge != "":
		text += fmt.Sprintf("events: {compaction: {min_age: %q}}\n", e.Compaction.MinAge)
	}
	return []byte(text)
}

// standing is what the status of each user says of the daemon's process.
func (m *machine) standing() wire.Machine {
	return wire.Machine{Landlock: m.report.Landlock, Log: m.events.Problem()}
}
