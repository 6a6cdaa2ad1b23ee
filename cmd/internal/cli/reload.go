package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
)

func (a *App) reloadCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the daemon take its configuration into use anew",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.reload(cmd.Context(), *asJSON) },
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

func (a *App) reload(ctx context.Context, asJSON bool) error {
	c, err := a.daemon()
	if err != nil {
		return err
	}
	if c == nil {
		return failure("no daemon serves this state directory",
			"`belay serve` starts one. Other commands read the configuration each time.")
	}
	defer c.Close()
	r, err := c.Reload(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	return a.tell(asJSON, r, a.Out, "in use: %s\n", safe(r.Revision))
}

// tellDaemon has the daemon reload an edited file, so that a command that says
// "done" is. A caller without the role leaves it to the daemon's own look.
func (a *App) tellDaemon(ctx context.Context) error {
	c, err := a.daemon()
	if c == nil || err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Reload(ctx)
	var p *client.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p) && (p.Code == wire.CodeToken || p.Code == wire.CodeRole):
		fmt.Fprintln(a.Err,
			"belay: note: the daemon was not told, since the admin's token is not here; it looks at belay.yaml by itself every second")
		return nil
	case errors.As(err, &p):
		return failureBy(err, "It is written to belay.yaml, but the daemon does not use it: "+p.Hint)
	}
	return failureBy(err, "It is written to belay.yaml; whether the daemon uses it is not known.")
}
