package claudecode

import (
	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// received is what Claude Code has sent, while an event is made of it. Members that are not read are no
// error: hooks find them under /metadata/caller/payload.
type received struct{ *payload.Payload }

func receive(b []byte, limit int) (*received, error) {
	p, err := payload.Parse(b, limit)
	if err != nil {
		return nil, err
	}
	return &received{p}, nil
}
