package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RecordingType is the media type of a recording: JSON, one value a line.
const RecordingType = "application/vnd.belay.recording+jsonl"

// Record has the daemon record what it decides from now on, for so long and so many
// invocations at most (both rounded up to what the daemon counts), and returns the
// recording as it is made. It holds originals, secrets included. It ends by itself;
// closing it ends it early. It takes the role admin.
func (c *Client) Record(ctx context.Context, d time.Duration, count int) (io.ReadCloser, error) {
	values := url.Values{
		"seconds": {strconv.Itoa(int((d + time.Second - 1) / time.Second))},
		"count":   {strconv.Itoa(count)},
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: "/v1/recording", query: values, roles: []Role{RoleAdmin}, accept: RecordingType})
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
