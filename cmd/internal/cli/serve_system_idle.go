package cli

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/front"
)

// restEvery is how often the servers are looked at that could rest.
const restEvery = 15 * time.Second

// rest closes the servers of users who have had no connection for limits.idle_minutes. What they have is in their state
// directories; a recording, a stream or a question has a connection, and an MCP server of theirs has ended before, or
// ends with it.
func (m *machine) rest(ctx context.Context, f *front.Front) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		config, err := m.configs.now()
		if err != nil {
			continue
		}
		for _, uid := range f.Users() {
			f.Rest(ctx, uid, config.Limits.Idle())
		}
	}
}
