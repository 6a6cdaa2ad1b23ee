package toolpins

import (
	"maps"
	"slices"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/phases"
)

// sight is a listing with its digests.
type sight struct {
	*Listing
	way     string
	digests map[string]string
}

func see(l *Listing) sight {
	s := sight{Listing: l, way: phases.ByteDigest(l.Way), digests: map[string]string{}}
	for name, text := range l.Tools {
		s.digests[name] = phases.ByteDigest(text)
	}
	return s
}

// change says how a sight differs from what is accepted. Tools that no hook can call do not
// count, and neither do those that belay.yaml pins.
func (s *sight) change(a *accepted) queue.ToolChange {
	c := queue.ToolChange{Server: s.Server}
	if a.Way != s.way {
		c.Way = &queue.MovedServer{From: a.Way, To: s.way, Was: a.Reached}
	}
	names := slices.Sorted(maps.Keys(s.digests))
	for name := range a.Tools {
		if s.digests[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, now := a.Tools[name].Digest, s.digests[name]
		if was == now || !s.Callable(name) || s.Pins[name] != "" {
			continue
		}
		t := queue.ChangedTool{Tool: name, Change: queue.ToolChanged, From: was, To: now, Was: a.Tools[name].Text}
		switch {
		case was == "":
			t.Change = queue.ToolNew
		case now == "":
			t.Change = queue.ToolGone
		}
		c.Tools = append(c.Tools, t)
	}
	return c
}
