package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statelog"
)

// examineLeftover tells of an old belay.db beside a belay.yaml that names a store which kernels share; nil: there is
// none.
func examineLeftover(ctx context.Context, dir string, file *config.File) *finding {
	events, err := statelog.LeftOver(ctx, dir, file)
	if events == 0 && err == nil {
		return nil
	}
	out := &finding{Check: "store", Status: "warn",
		Text: fmt.Sprintf("%s holds %s that are not used: belay.yaml names PostgreSQL", filepath.Join(dir, "belay.db"),
			plural(int(events), "event")),
		Advice: "Its leases, approvals and latches do not count. Verify it once more (without store: in a copy of the " +
			"directory), and then move it away."}
	if err != nil {
		out.Text = fmt.Sprintf("a belay.db that is not used lies in %s, and cannot be read: %v", dir, err)
	}
	return out
}
