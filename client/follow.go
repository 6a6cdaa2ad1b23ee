package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

const maxFrameLine = 16 << 20 // bytes of one line of a stream

// Follow calls each for every event after q.After, in order, as they are recorded,
// until ctx ends (the error is then nil), each returns an error (which it returns),
// or the stream ends: ErrSick. Events that were given to each are done with; to go
// on later, start again after the last one's number.
func (c *Client) Follow(ctx context.Context, q wire.Query, each func(phases.Event) error) error {
	values := eventFilters(q)
	values.Del("newest")
	values.Del("limit")
	values.Set("after", strconv.FormatInt(q.After, 10))
	values.Set("follow", "true")
	resp, err := c.send(ctx,
		request{method: http.MethodGet, path: "/v1/events", query: values, roles: readers, accept: "text/event-stream"})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return refusal(resp, b)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 64<<10), maxFrameLine)
	for lines.Scan() {
		doc, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e phases.Event
		if err := json.Unmarshal(doc, &e); err != nil {
			return fmt.Errorf("%w: an event cannot be read: %w", ErrSick, err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%w: the stream of events has ended", ErrSick)
}

func mustJSON[T latchClear | configAccept | configUser | Compaction | reconcileRequest](s T) []byte {
	b, err := json.Marshal(s)
	if err != nil { // strings and times; invalid UTF-8 is the only way, and names nothing
		return []byte("{}")
	}
	return b
}
