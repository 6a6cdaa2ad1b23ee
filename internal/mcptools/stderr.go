package mcptools

import (
	"context"
	"log/slog"

	"github.com/belay-hooks/belay/internal/lines"
	"github.com/belay-hooks/belay/phases"
)

// maxLine bounds the shown part of a line of a server's standard error, in bytes.
const maxLine = 1 << 10

// newStderrLog logs what a server writes to standard error: lines.Max lines, without what it was given by this
// environment and without what cover takes for a secret. cover may be nil.
func newStderrLog(log *slog.Logger, env []string, cover func(string) string) *lines.Writer {
	return lines.New(env, func(text string, last bool) {
		if cover != nil {
			text = cover(text)
		}
		log.LogAttrs(context.Background(), slog.LevelInfo, "an MCP server says",
			slog.String("stderr", phases.SafeLine(text, maxLine)))
		if last {
			log.LogAttrs(context.Background(), slog.LevelWarn, "what the MCP server says from here on is not logged")
		}
	})
}
