package install

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// The file of the state directory that says which module an upgrade replaced, so that a rollback finds it. It decides
// nothing: a rollback looks at the module as at any other, and belay.yaml alone says what runs.
const (
	historyFile    = "upgrades.json"
	historyVersion = "belay/upgrades/v1"
	maxHistory     = 1 << 20 // bytes
	maxReplaced    = 256     // entries; the oldest are dropped
)

type history struct {
	Version  string     `json:"version"`
	Upgrades []replaced `json:"upgrades"` // the newest last
}

// replaced is one change of a binding's module.
type replaced struct {
	Binding      string    `json:"binding"`
	From         string    `json:"from"`         // what belay.yaml named: a digest, or builtin:NAME
	Capabilities []string  `json:"capabilities"` // that the binding had then
	To           string    `json:"to"`
	At           time.Time `json:"at"`
}

// ErrNoUpgrade: no upgrade is known that led to the module that is bound.
var ErrNoUpgrade = errors.New("there is no upgrade to roll back")

func readHistory(dir string) (history, error) {
	h := history{Version: historyVersion}
	src, err := files.Read(filepath.Join(dir, historyFile), maxHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	} else if err != nil {
		return h, err
	}
	if err := json.Unmarshal(src, &h, json.RejectUnknownMembers(true)); err != nil {
		return h, fmt.Errorf("%s: %w", historyFile, err)
	}
	if h.Version != historyVersion {
		return h, fmt.Errorf("%s: its version is not %s", historyFile, historyVersion)
	}
	return h, nil
}

// remember adds a change. Doing it again with the same one changes nothing. Preconditions: the lock of
// belay.yaml is held.
func remember(dir string, r replaced) error {
	h, err := readHistory(dir)
	if err != nil {
		return err
	}
	if n := len(h.Upgrades); n > 0 && h.Upgrades[n-1].Binding == r.Binding && h.Upgrades[n-1].From == r.From &&
		h.Upgrades[n-1].To == r.To {
		return nil
	}
	h.Upgrades = append(h.Upgrades, r)
	if over := len(h.Upgrades) - maxReplaced; over > 0 {
		h.Upgrades = slices.Delete(h.Upgrades, 0, over)
	}
	b, err := json.Marshal(&h, json.Deterministic(true))
	if err != nil {
		return err
	}
	return statedir.Replace(filepath.Join(dir, historyFile), append(b, '\n'), 0o600)
}

// before finds what the newest upgrade of a binding to the module that it has now replaced.
func before(dir, binding, module string) (replaced, error) {
	h, err := readHistory(dir)
	if err != nil {
		return replaced{}, err
	}
	for _, r := range slices.Backward(h.Upgrades) {
		if r.Binding == binding && r.To == module {
			return r, nil
		}
	}
	return replaced{}, fmt.Errorf("%w: no upgrade of %s led to %s", ErrNoUpgrade, binding, module)
}

// rollbackNeeds lists the modules that a rollback may need.
func rollbackNeeds(dir string) (map[string]bool, error) {
	h, err := readHistory(dir)
	out := map[string]bool{}
	for _, r := range h.Upgrades {
		out[r.From], out[r.To] = true, true
	}
	return out, err
}
