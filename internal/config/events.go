package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/queue"
)

// Events says where events go besides the store, and how often checkpoints of the
// log are signed.
type Events struct {
	Sinks      []Sink     `json:"sinks,omitzero"`
	Checkpoint Checkpoint `json:"checkpoint,omitzero"`
	Retention  Retention  `json:"retention,omitzero"`
	Compaction Compaction `json:"compaction,omitzero"`

	// HighWater is the directory of high-water marks, absolute and not in the state
	// directory; "" means belay/marks in the XDG data directory.
	HighWater string `json:"high_water,omitzero"`
}

// Compaction bounds what may be removed, by hand and by retention.
type Compaction struct {
	MinAge string `json:"min_age,omitzero"` // such as 720h: no event that is younger is compacted; 48h…87600h; default 48h
}

// Age returns MinAge; 0 means the default. Preconditions: the file was parsed.
func (c *Compaction) Age() time.Duration {
	d, _ := time.ParseDuration(c.MinAge) // "" means the default
	return d
}

// minCompactionAge is two times the longest wait of the queue: a question waits as long,
// and its decision holds as long. It can only be raised.
const minCompactionAge = 2 * queue.MaxTimeout

func (c *Compaction) validate(ch checker, at string) error {
	if c.MinAge == "" {
		return nil
	}
	if d, err := time.ParseDuration(c.MinAge); err != nil || d < minCompactionAge || d > 87_600*time.Hour {
		return ch.errorf(at+"/min_age", "is a duration from %v to 87600h: what is younger can never be compacted",
			minCompactionAge)
	}
	return nil
}

// Retention is how long the contents of events are kept. Without it: for ever.
type Retention struct {
	Days int `json:"days,omitzero"` // 1…36500; the daemon compacts older events
}

func (r *Retention) validate(c checker, at string) error {
	if r.Days < 0 || r.Days > 36_500 {
		return c.errorf(at+"/days", "must be between 1 and 36500; leave it out to keep everything")
	}
	return nil
}

// Sink is one place for events or checkpoints: exactly one member is set. The store
// is a sink whether it is listed or not.
type Sink struct {
	Store      *StoreSink      `json:"store,omitzero"`
	JSONL      *JSONLSink      `json:"jsonl,omitzero"`
	Checkpoint *CheckpointSink `json:"checkpoint,omitzero"`
}

// StoreSink is belay.db. It takes no part of the settings away: numbers of events,
// latches and state come from it, so that it is always there and always durable.
type StoreSink struct {
	Durable *bool `json:"durable,omitzero"`
}

// JSONLSink is a file of JSON lines: the events exactly as they are stored, in order.
type JSONLSink struct {
	Path string `json:"path"` // absolute
	// default true: no verdict before the file is synced, and none while it cannot be
	Durable   *bool `json:"durable,omitzero"`
	RotateMiB int64 `json:"rotate_mib,omitzero"` // 1…65536: a new file is begun at this size; default never
	Keep      int   `json:"keep,omitzero"`       // 1…10000 rotated files; default all
}

// CheckpointSink is a file of signed checkpoints.
type CheckpointSink struct {
	Path    string `json:"path"`             // absolute; best where the agent cannot write
	Durable *bool  `json:"durable,omitzero"` // default true: while it cannot be written, every action is blocked
}

// Checkpoint is how often checkpoints are signed, and one file for them. Further
// files are sinks.
type Checkpoint struct {
	File    string `json:"file,omitzero"`    // absolute; best where the agent cannot write
	Every   int64  `json:"every,omitzero"`   // events, 1…1000000; default 1000
	Seconds int64  `json:"seconds,omitzero"` // 1…86400; default 60
	// while the file cannot be written nothing is recorded, and so every action is blocked
	Required bool `json:"required,omitzero"`
}

// CheckpointFile is a file of checkpoints, whichever way it was configured.
type CheckpointFile struct {
	Path     string
	Required bool
}

// CheckpointFiles returns every file of checkpoints, in the order of the configuration.
func (e *Events) CheckpointFiles() []CheckpointFile {
	var out []CheckpointFile
	if e.Checkpoint.File != "" {
		out = append(out, CheckpointFile{Path: e.Checkpoint.File, Required: e.Checkpoint.Required})
	}
	for _, s := range e.Sinks {
		if c := s.Checkpoint; c != nil {
			out = append(out, CheckpointFile{Path: c.Path, Required: orTrue(c.Durable)})
		}
	}
	return out
}

// JSONL returns the files of JSON lines.
func (e *Events) JSONL() []JSONLSink {
	var out []JSONLSink
	for _, s := range e.Sinks {
		if s.JSONL != nil {
			out = append(out, *s.JSONL)
		}
	}
	return out
}

// Must reports whether the sink has to have an event before its verdict is released.
func (s *JSONLSink) Must() bool { return orTrue(s.Durable) }

func orTrue(b *bool) bool { return b == nil || *b }

func (p *Checkpoint) validate(c checker, at string) error {
	switch {
	case p.File != "" && !filepath.IsAbs(p.File):
		return c.errorf(at+"/file", "must be an absolute path")
	case p.Required && p.File == "":
		return c.errorf(at+"/required", "needs a file: with files under events.sinks, say durable there")
	case p.Every < 0 || p.Every > 1_000_000:
		return c.errorf(at+"/every", "must be between 1 and 1000000 events")
	case p.Seconds < 0 || p.Seconds > 86_400:
		return c.errorf(at+"/seconds", "must be between 1 and 86400")
	}
	return nil
}

// maxSinks keeps one verdict from waiting for a crowd.
const maxSinks = 8

func (e *Events) validate(c checker, at string) error {
	if err := e.Checkpoint.validate(c, at+"/checkpoint"); err != nil {
		return err
	}
	if err := e.Retention.validate(c, at+"/retention"); err != nil {
		return err
	}
	if err := e.Compaction.validate(c, at+"/compaction"); err != nil {
		return err
	}
	if e.HighWater != "" && (!filepath.IsAbs(e.HighWater) || filepath.Clean(e.HighWater) != e.HighWater) {
		return c.errorf(at+"/high_water", "must be an absolute path, without .. and such")
	}
	if len(e.Sinks) > maxSinks {
		return c.errorf(at+"/sinks", "at most %d", maxSinks)
	}
	seen := map[string]bool{}
	if e.Checkpoint.File != "" {
		seen[filepath.Clean(e.Checkpoint.File)] = true
	}
	stores := 0
	for i, s := range e.Sinks {
		here := fmt.Sprintf("%s/sinks/%d", at, i)
		kind, path := "", ""
		for _, k := range []struct {
			name string
			set  bool
		}{{"store", s.Store != nil}, {"jsonl", s.JSONL != nil}, {"checkpoint", s.Checkpoint != nil}} {
			if k.set && kind != "" {
				return c.errorf(here, "is one of store, jsonl, checkpoint: begin another element for the other")
			}
			if k.set {
				kind = k.name
			}
		}
		switch kind {
		case "":
			return c.errorf(here, "is one of store, jsonl, checkpoint")
		case "store":
			if stores++; stores > 1 {
				return c.errorf(here, "there is one store")
			}
			if !orTrue(s.Store.Durable) {
				return c.errorf(here+"/store/durable",
					"at least one sink is durable, and it is the store: numbers, latches and state come from it; take this line out")
			}
			continue
		case "jsonl":
			path = s.JSONL.Path
			if s.JSONL.RotateMiB < 0 || s.JSONL.RotateMiB > 65_536 {
				return c.errorf(here+"/jsonl/rotate_mib", "must be between 1 and 65536")
			}
			if s.JSONL.Keep < 0 || s.JSONL.Keep > 10_000 {
				return c.errorf(here+"/jsonl/keep", "must be between 1 and 10000 files")
			}
			if s.JSONL.Keep > 0 && s.JSONL.RotateMiB == 0 {
				return c.errorf(here+"/jsonl/keep", "needs rotate_mib")
			}
		case "checkpoint":
			path = s.Checkpoint.Path
		}
		if err := sinkPath(c, here+"/"+kind+"/path", path, seen); err != nil {
			return err
		}
	}
	return nil
}

func sinkPath(c checker, at, path string, seen map[string]bool) error {
	switch clean := filepath.Clean(path); {
	case path == "":
		return c.errorf(at, "is missing")
	case !filepath.IsAbs(path):
		return c.errorf(at, "must be an absolute path")
	case strings.HasSuffix(path, "/"):
		return c.errorf(at, "must name a file")
	case seen[clean]:
		return c.errorf(at, "another sink writes to this file")
	default:
		seen[clean] = true
	}
	return nil
}
