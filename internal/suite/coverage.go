package suite

import (
	"github.com/belay-hooks/belay/internal/cover"
)

// Coverage returns the parts of the hook's module that have run since it was loaded; nil
// when the engine does not cover, or no case has loaded the module.
func (h *Hook) Coverage() *cover.Profile {
	c := h.engine.bench.Coverage(h.module)
	if c == nil {
		return nil
	}
	regions := make([]cover.Region, len(c.Regions))
	for i, r := range c.Regions {
		regions[i] = cover.Region{Func: r.Func, Start: r.Start, End: r.End, Hit: c.Hit[i]}
	}
	return cover.New(h.module, regions)
}
