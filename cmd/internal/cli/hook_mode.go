package cli

import (
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) hookObserveCmd() *cobra.Command {
	return a.hookEditCmd("observe NAME", "Only record what a hook would decide; `belay events report` counts it",
		"only observes: what it would decide is recorded, and stops nothing",
		func(src []byte, name string) ([]byte, error) {
			return config.SetMode(src, name, phases.Observe)
		})
}

func (a *App) hookEnforceCmd() *cobra.Command {
	return a.hookEditCmd("enforce NAME", "Let what an observed hook decides take effect again", "is enforced",
		func(src []byte, name string) ([]byte, error) {
			return config.SetMode(src, name, phases.Enforce)
		})
}
