package cli

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
)

// findings collects what doctor says, a line each.
type findings []string

func (f *findings) ok(check, text string) { *f = append(*f, "ok "+check+": "+text) }
func (f *findings) warn(check, text, advice string) {
	*f = append(*f, "warn "+check+": "+text+" "+advice)
}
func (f *findings) fail(check, text, advice string) {
	*f = append(*f, "fail "+check+": "+text+" "+advice)
}

// of returns the messages of a check.
func (f findings) of(check string) (out []string) {
	for _, line := range f {
		if _, rest, _ := strings.Cut(line, " "); strings.HasPrefix(rest, check+":") {
			out = append(out, line)
		}
	}
	return out
}

func TestDoctorOnConnections(t *testing.T) {
	hour := time.Hour.Milliseconds()
	for name, c := range map[string]struct {
		daemon *wire.Daemon
		want   string // "": no line
	}{
		"no daemon":    {nil, ""},
		"an older one": {&wire.Daemon{Busiest: 9}, ""},
		"idle":         {&wire.Daemon{Limit: 512}, "ok connections: 0 of 512 in use"},
		"nine tenths":  {&wire.Daemon{Limit: 10, Busiest: 9}, "ok connections: 9 of 10 in use"},
		"more":         {&wire.Daemon{Limit: 512, Busiest: 461}, "warn connections: 461 of 512 in use"},
		"all":          {&wire.Daemon{Limit: 1, Busiest: 1}, "warn connections: 1 of 1 in use"},
		"refused now": {&wire.Daemon{Limit: 512, Busiest: 2, AllTaken: 7, ExhaustedMS: 1},
			"warn connections: 2 of 512 in use on the busiest address; since the daemon began 7 found all taken, and 0 no file descriptor, the last 0s ago"},
		"an hour ago": {&wire.Daemon{Limit: 512, Descriptors: 3, ExhaustedMS: hour},
			"warn connections: 0 of 512 in use on the busiest address; since the daemon began 0 found all taken, and 3 no file descriptor, the last 1h0m0s ago"},
		"before that hour": {&wire.Daemon{Limit: 512, Descriptors: 3, ExhaustedMS: hour + 1},
			"ok connections: 0 of 512 in use on the busiest address; since the daemon began 0 found all taken, and 3 no file descriptor"},
	} {
		var f findings
		examineConnections(c.daemon, f.ok, f.warn)
		if len(f) > 1 || strings.Join(f, "") == "" != (c.want == "") || !strings.HasPrefix(strings.Join(f, ""), c.want) {
			t.Errorf("%s: %q, want %q", name, f, c.want)
		}
	}
}

func TestDoctorOnHealthThatIsStale(t *testing.T) {
	for age, warns := range map[time.Duration]bool{0: false, time.Second: false, healthLately: false,
		healthLately + time.Millisecond: true, time.Minute: true} {
		var f findings
		examineAge(wire.Health{OK: true, Age: age.Milliseconds()}, f.warn)
		if (len(f) == 1) != warns {
			t.Errorf("%v: %q", age, f)
		}
	}
}

// TestDoctorAsksTheDaemonForConnections: the line is green while connections are free, and yellow after new
// ones found all taken.
func TestDoctorAsksTheDaemonForConnections(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	a := &App{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}
	if code := a.Main(t.Context(), []string{"init", "--state", dir}); code != 0 {
		t.Fatalf("exit %d", code)
	}
	host, err := belay.Open(t.Context(), dir, belay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	s, err := server.Open(host, server.Options{Dir: dir, Conns: 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() { cancel(); <-ended }()
	said := func() string {
		var f findings
		if a.examineDaemon(t.Context(), dir, f.ok, f.warn, f.fail) {
			t.Errorf("the daemon hangs: %q", f)
		}
		return strings.Join(f.of("connections"), "\n")
	}
	if got := said(); !strings.HasPrefix(got, "ok connections: ") || !strings.Contains(got, " of 20 in use") {
		t.Errorf("%q", got)
	}
	for range 40 {
		c, err := net.Dial("unix", s.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for end := time.Now().Add(20 * time.Second); s.Connections().Connections == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if got := said(); !strings.HasPrefix(got, "warn connections: ") ||
		!strings.Contains(got, " found all taken, and 0 no file descriptor, the last ") {
		t.Errorf("%q", got)
	}
}
