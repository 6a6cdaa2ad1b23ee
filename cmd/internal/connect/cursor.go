package connect

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters/cursor"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// Cursor was never run here: the form of its hooks.json is that of a description (version 3.9.16).

// cursorHook is one entry.
type cursorHook struct {
	Command    string `json:"command"`
	Type       string `json:"type"`
	Timeout    int64  `json:"timeout"` // seconds
	FailClosed bool   `json:"failClosed"`
}

// cursorEmpty is the file without an entry, as belay begins one.
const cursorEmpty = `{"version": 1}`

// cursorGroups are belay's entries.
func cursorGroups(h Hook) groups {
	return groups{
		runtime: cursor.Runtime,
		flat:    true,
		events:  cursor.Events(),
		command: func(src []byte, n *jsonedit.Node) []string { return split(str(src, n, "command")) },
		group: func(event string) (jsontext.Value, error) {
			line, err := shellLine(append([]string{h.Program}, h.args(cursor.Runtime, event)...))
			if err != nil {
				return nil, err
			}
			return text(cursorHook{Command: line, Type: "command", Timeout: cursorTimeout(event), FailClosed: true})
		},
	}
}

// cursorTimeout is how long Cursor waits for the answer to the event, in seconds.
func cursorTimeout(event string) int64 {
	return int64(cursor.New().Table().Wait(event) / time.Second)
}

// cursorHooks returns what hooks.json becomes: connected, or without belay's entries. nil is no file, before
// and after.
func cursorHooks(src []byte, h Hook, connected bool) ([]byte, error) {
	if connected {
		if src == nil {
			src = []byte(cursorEmpty)
		}
		return cursorGroups(h).connect(src)
	}
	if src == nil {
		return nil, nil
	}
	out, err := cursorGroups(h).disconnect(src)
	if err == nil && string(out) != string(src) && equal(orEmpty(out), jsontext.Value(cursorEmpty)) {
		return nil, nil
	}
	return out, err
}

// cursor reads hooks.json of each level. Cursor runs the hooks of all.
func (l *look) cursor(place Place, read Reader) {
	for _, level := range []Level{User, Project} {
		path := place.files(cursor.Runtime, level)[0].path
		src, there := l.read(path, read)
		if !there {
			continue
		}
		if _, err := parse(src); err != nil {
			l.say(Warn, in(path, err).Error(), "Cursor may read less of it than it says.")
			continue
		}
		l.gather(cursorGroups(Hook{}), level, path, src, func(h *jsonedit.Node, r *registered) {
			if n := h.Member("failClosed"); n == nil || n.Kind != 't' {
				r.wrong = append(r.wrong, "it has no failClosed: Cursor goes on when it fails")
			}
			if want := cursorTimeout(r.event); h.Member("timeout") != nil && int64(seconds(src, h)) < want {
				r.wrong = append(r.wrong, fmt.Sprintf("Cursor stops waiting after less than %d s", want))
			}
		})
	}
}
