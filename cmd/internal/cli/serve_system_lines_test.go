package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A user who has the daemon write lines without end gets a number of them, and their count later. Other messages, and
// other users, are not touched.
func TestLinesAboutAUserAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		all := slog.NewTextHandler(&out, nil)
		log := slog.New(newFewLines(all.WithAttrs([]slog.Attr{slog.Int("uid", 1001)}))).With(slog.String("part", "server"))
		other := slog.New(newFewLines(all.WithAttrs([]slog.Attr{slog.Int("uid", 1002)})))
		for range 1000 {
			log.Warn("a frame was refused")
		}
		log.Warn("stopping")
		other.Warn("a frame was refused")
		if n := strings.Count(out.String(), "a frame was refused"); n != mostLines+1 ||
			!strings.Contains(out.String(), "stopping") || !strings.Contains(out.String(), "part=server") {
			t.Errorf("%d lines: %s", n, out.String())
		}
		time.Sleep(linesEvery)
		out.Reset()
		log.Warn("a frame was refused")
		if s := out.String(); !strings.Contains(s, "left out") || !strings.Contains(s, "lines=980") ||
			!strings.Contains(s, "a frame was refused") {
			t.Errorf("%s", s)
		}
	})
}
