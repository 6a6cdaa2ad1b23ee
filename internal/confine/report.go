package confine

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/files"
)

// reportFile is the name of the report in the state directory of system mode.
const reportFile = "daemon.json"

// Engines of a report.
const (
	Compiler    = "compiler"
	Interpreter = "interpreter"
)

// Report is what the daemon says about its own process. Only the daemon's user and root can
// have written it.
type Report struct {
	PID      int       `json:"pid"`
	Version  string    `json:"version"` // of the program
	Started  time.Time `json:"started"`
	Landlock int       `json:"landlock"` // version in force; 0: none
	Engine   string    `json:"engine"`   // compiler or interpreter
	// Log says why the machine's log cannot be written; "": it can, as far as is known.
	Log string `json:"log,omitzero"`
}

// Write puts the report into the state directory.
func (r Report) Write(state string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(state, reportFile), append(b, '\n'), files.Options{Perm: 0o600})
}

// ReadReport reads the report of the last daemon that started; it need not run any more. The
// error is fs.ErrNotExist when none has started yet.
func ReadReport(state string) (Report, error) {
	var r Report
	path := filepath.Join(state, reportFile)
	b, err := files.Private(path, 4<<10)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r, json.RejectUnknownMembers(true)); err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	if r.PID < 1 || r.Landlock < 0 || r.Engine != Compiler && r.Engine != Interpreter {
		return Report{}, errors.New(path + " is no report of a daemon")
	}
	return r, nil
}
