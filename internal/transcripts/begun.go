package transcripts

import (
	"bufio"
	"errors"
	"io"
	"time"
)

// Begun is a session of which a log tells, and when the log says that it began.
type Begun struct {
	Session string
	At      time.Time
}

// maxOpening is how many lines at the beginning of a log are looked at for a time.
const maxOpening = 20

// Beginning returns the first time that the log of one JSON object a line tells at its beginning: its member
// timestamp or startTime. The zero time means that it tells none there. The error is one of reading.
func Beginning(r io.Reader) (time.Time, error) {
	in := bufio.NewReader(io.LimitReader(r, MaxLine))
	for range maxOpening {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return time.Time{}, err
		}
		var record struct {
			Timestamp time.Time `json:"timestamp"`
			StartTime time.Time `json:"startTime"`
		}
		if Decode(line, &record) == nil {
			for _, at := range []time.Time{record.Timestamp, record.StartTime} {
				if !at.IsZero() {
					return at, nil
				}
			}
		}
		if err != nil {
			break
		}
	}
	return time.Time{}, nil
}
