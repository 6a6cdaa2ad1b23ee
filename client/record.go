package client

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// Record has the daemon record the invocations that it decides from now on, for d (rounded
// up to whole seconds) and count of them at most, and returns the recording as it is made.
// It holds originals, secrets included. It ends by itself; closing it ends it early. It
// takes the role admin and, where a reviewer is registered, a statement about this and a
// destination, which the daemon logs; nil says neither.
func (c *Client) Record(ctx context.Context, d time.Duration, count int, to *RecordTo) (io.ReadCloser, error) {
	values := url.Values{
		"seconds": {strconv.Itoa(int((d + time.Second - 1) / time.Second))},
		"count":   {strconv.Itoa(count)},
	}
	statement := ""
	if to != nil {
		values.Set("destination", to.Destination)
		if to.Statement != nil {
			b, err := json.Marshal(to.Statement, json.Deterministic(true), jsontext.WithIndent("  "))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", approvals.ErrInvalid, err)
			}
			statement = base64.RawURLEncoding.EncodeToString(append(b, '\n'))
		}
	}
	resp, err := c.send(ctx,
		request{method: http.MethodGet, path: "/v1/recording", query: values, roles: []Role{RoleAdmin},
			accept:    daemonapi.RecordingType,
			statement: statement})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return nil, refusal(resp, b)
	}
	return resp.Body, nil
}

// RecordTo says where a recording goes, and who wants that.
type RecordTo struct {
	Destination string // digest of what the recorder knows of it
	Statement   *approvals.Order
}
