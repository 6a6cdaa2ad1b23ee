//go:build !linux

package cli

import (
	"context"
	"log/slog"
)

func (a *App) serveTools(context.Context, *slog.Logger) error { return errNoSystem() }

// IsToolStarter is false: system mode is for Linux.
func IsToolStarter([]string) bool { return false }

// StartTool does nothing.
func StartTool([]string) int { return 1 }
