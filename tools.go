package belay

import (
	"context"

	"github.com/belay-hooks/belay/kernel"
)

// Tools lists the tools that hooks can call. It starts the MCP servers; the error
// names those that do not start, and the others' tools are listed all the same.
func (b *Belay) Tools(ctx context.Context) ([]kernel.ToolInfo, error) {
	if x := b.executor(); x != nil {
		return x.Tools(ctx)
	}
	return nil, nil
}

// executor is what runs tools: the embedder's, or the servers of belay.yaml.
func (b *Belay) executor() kernel.ToolExecutor {
	switch {
	case b.o.Tools != nil:
		return b.o.Tools
	case b.tools != nil:
		return b.tools
	}
	return nil
}
