package mcptools_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/kernel"
)

// deaf is whether the server has stopped reading.
var deaf atomic.Bool

// ear is standard input, until the server does not listen any more.
type ear struct{ io.ReadCloser }

func (e *ear) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p[:min(len(p), 512)])
	if deaf.Load() {
		time.Sleep(time.Hour) // not select {}: a program in which everything waits is ended by its runtime
	}
	return n, err
}

// flood is a server that asks its client for something without end and reads nothing.
func flood() {
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	fmt.Println(
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"floods","version":"1"}}}`)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"%d","method":"ping"}`+"\n", i); err != nil {
			os.Exit(0)
		}
	}
}

// listMuch is a server with many tools, each of them described at length.
func listMuch() {
	in := bufio.NewReader(os.Stdin)
	for page := 0; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		var q struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			os.Exit(1)
		}
		switch {
		case q.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"many","version":"1"}}}`+"\n", q.ID)
		case q.Method == "tools/list":
			page++
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"nextCursor":"%d","tools":[{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}]}}`+"\n", q.ID, page, page, strings.Repeat("x", 2<<20))
		case q.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}`+"\n", q.ID)
		}
	}
}

// complain is a server that ends with many words on standard error.
func complain(lines int) {
	token := os.Getenv("BELAY_TEST_TOKEN")
	fmt.Fprintf(os.Stderr, "token %s is not good\npassword hunter2\n%s\n", token, os.Getenv("BELAY_TEST_KEY"))
	fmt.Fprintf(os.Stderr, "%s%s\n", strings.Repeat("x", 1<<10-8), token) // over the end of the shown part
	for range lines {
		fmt.Fprintln(os.Stderr, "and again")
	}
	fmt.Fprint(os.Stderr, "the end")
	os.Exit(1)
}

// A server that has stopped reading delays neither a call that is too large for
// the pipe, nor later calls, nor its own end.
func TestServerThatStopsReading(t *testing.T) {
	set := declare(t, "serve", func(s *mcptools.Server) { s.Timeout = 700 * time.Millisecond }, mcptools.Options{})
	pid := said(t, set, "deafen", "{}")
	large := `{"text":"` + strings.Repeat("x", 200<<10) + `"}`
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := call(t, set, "echo", large); !errors.Is(err, kernel.ErrToolTimeout) {
					t.Errorf("%v", err)
				}
			})
		}
		wg.Wait()
		set.Close()
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the calls wait for a server that does not read")
	}
	ends(t, "the server", pid)
}

// What a server asks its client for is not kept without bound.
func TestServerThatFloods(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	set := declare(t, "floods", func(s *mcptools.Server) { s.Timeout = 2 * time.Second }, mcptools.Options{})
	from := time.Now()
	_, err := call(t, set, "echo", "{}")
	took := time.Since(from)
	runtime.ReadMemStats(&after)
	t.Logf("%v after %v, %d MiB allocated, %d MiB held", err, took, (after.TotalAlloc-before.TotalAlloc)>>20,
		(int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
	if err == nil || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 32<<20 {
		t.Errorf("%d bytes are held", held)
	}
}

// Nor is its list of tools.
func TestServerThatListsMuch(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	set := declare(t, "many", func(s *mcptools.Server) { s.Timeout = 20 * time.Second }, mcptools.Options{})
	_, err := call(t, set, "echo", "{}")
	runtime.ReadMemStats(&after)
	t.Logf("%v, %d MiB allocated", err, (after.TotalAlloc-before.TotalAlloc)>>20)
	if err == nil || errors.Is(err, kernel.ErrToolTimeout) {
		t.Errorf("%v", err)
	}
	if all := after.TotalAlloc - before.TotalAlloc; all > 256<<20 {
		t.Errorf("%d bytes were allocated", all)
	}
}

// What a server was given, and what looks like a secret, does not get into the log by
// its standard error; how it ended does, with or without a line break.
func TestSecretsOnStandardError(t *testing.T) {
	const token, key = "tok-7f3d9a1c55e2", "-----BEGIN KEY-----\nAAAAB3NzaC1yc2E\n-----END KEY-----"
	t.Setenv("BELAY_TEST_TOKEN", token)
	t.Setenv("BELAY_TEST_KEY", key)
	var log syncBuffer
	o := mcptools.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Cover:  func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") },
	}
	for _, how := range []string{"complains", "complains much"} {
		set := declare(t, how, func(s *mcptools.Server) { s.Env = append(s.Env, "BELAY_TEST_TOKEN", "BELAY_TEST_KEY") }, o)
		if _, err := call(t, set, "echo", "{}"); err == nil {
			t.Error("it has ended, and answers")
		}
		set.Close()
	}
	said := log.String()
	for _, secret := range []string{token, token[:8], "AAAAB3NzaC1yc2E", "hunter2"} {
		if strings.Contains(said, secret) {
			t.Errorf("%q stands in the log", secret)
		}
	}
	for _, want := range []string{"token [value of BELAY_TEST_TOKEN] is not good", "password ***",
		"[value of BELAY_TEST_KEY]", "not logged", "the end"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in the log:\n%s", want, said)
		}
	}
	if n := strings.Count(said, "an MCP server says"); n != 7+200 {
		t.Errorf("%d lines", n)
	}
}
