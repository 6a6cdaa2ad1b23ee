package cli

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/tiers"
)

// toldWithin is how long a daemon may take to tell other kernels what was denied: it looks once a second.
const toldWithin = 3 * time.Second

// denyForAll denies on all kernels that share the store of belay.yaml. It holds here at once, whatever becomes of the
// others.
func (a *App) denyForAll(ctx context.Context, deny tiers.Deny, said []string, options *denyOptions) error {
	named, err := a.namedStore()
	if err != nil {
		return err
	}
	if named.Kernel == "" {
		return usageError("--fleet needs a store that kernels share, and belay.yaml names none",
			"Without --fleet it is denied here. docs/SCALING.md says how kernels share a store.")
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	name := "unknown user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	n := trust.NewDenial(deny, options.why, name, time.Now())
	if err := trust.EditDenials(dir, func(d *trust.Denials) error { d.Add(n); return nil }); err != nil {
		return failureBy(err, "Nothing was changed.")
	}
	told, why := a.tellDenial(ctx, dir, n.ID)
	list := safe(strings.Join(said, "\n  "))
	out := map[string]any{"revoked": said, "id": n.ID, "told": told}
	if told {
		return a.tell(options.json, out, a.Out, "Revoked on all kernels:\n  %s\nThose that run take it into use within "+
			"two seconds. It cannot be taken back.\n", list)
	}
	text := "the next belay that opens this state directory tells them"
	if why != nil {
		text += "; it could not be done now: " + oneLine(why.Error(), 300)
	}
	if err := a.tell(options.json, out, a.Out, "Revoked here:\n  %s\n", list); err != nil {
		return err
	}
	return failure("other kernels do not know of it yet: "+text, "It is denied here, and stays so.")
}

// tellDenial sees to it that other kernels know of a denial: the daemon tells them, or else this process.
func (a *App) tellDenial(ctx context.Context, dir, id string) (told bool, why error) {
	known := func() bool {
		d, err := trust.ReadDenials(dir)
		return err == nil && slices.ContainsFunc(d.Denials, func(n trust.Denial) bool { return n.ID == id && n.Event > 0 })
	}
	if _, err := os.Stat(filepath.Join(dir, "belay.lock")); err == nil { // a daemon may be there
		for end := time.Now().Add(toldWithin); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if known() {
				return true, nil
			}
		}
	}
	host, err := a.openState(ctx, dir, belay.Options{NoHooks: true})
	if err == nil {
		err = host.ShareDenials(ctx)
		if closed := host.Close(); err == nil {
			err = closed
		}
	}
	return known(), err
}
