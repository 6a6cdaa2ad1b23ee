package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// flooding is a flood that goes on until ctx ends.
type flooding struct {
	ctx context.Context
	all sync.WaitGroup

	answered, refused, connected atomic.Int64
}

// floods are the kinds, in the order of the table that the test prints.
func floods() []struct {
	name  string
	begin func(*flooding)
} {
	return []struct {
		name  string
		begin func(*flooding)
	}{
		{"questions", func(f *flooding) { f.ask(64, func(g, _ int) string { return "bad-" + strconv.Itoa(g) }, "ls -l") }},
		{"sessions", func(f *flooding) {
			f.ask(64, func(g, n int) string { return fmt.Sprintf("bad-%d-%d", g, n) }, "ls -l")
		}},
		// What the shell parser, the redactor and the digests have to go through.
		{"large", func(f *flooding) {
			f.ask(64, func(g, _ int) string { return "bad-" + strconv.Itoa(g) }, "echo "+strings.Repeat("password=hunter2aB3 ", 45_000))
		}},
		{"connections", func(f *flooding) { f.connect(8, 1250, nothing) }},
		{"bodies", func(f *flooding) { f.connect(64, 50, body64MiB) }},
		{"unread", func(f *flooding) { f.connect(8, 500, unread) }},
		{"drops", func(f *flooding) { f.connect(64, 64, byDrops) }},
	}
}

func bad(kind string, seconds int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	defer cancel()
	f := &flooding{ctx: ctx}
	known := false
	for _, one := range floods() {
		if kind == "all" && one.name != "large" || kind == one.name {
			one.begin(f)
			known = true
		}
	}
	if !known {
		return fmt.Errorf("no flood %q", kind)
	}
	f.all.Wait()
	fmt.Println(f.answered.Load(), f.refused.Load(), f.connected.Load(), processUsed())
	return nil
}

// ask has so many clients ask without a rest.
func (f *flooding) ask(clients int, session func(client, n int) string, command string) {
	for g := range clients {
		f.all.Go(func() {
			var c *client.Client
			for n := 0; f.ctx.Err() == nil; n++ {
				if c == nil {
					var err error
					if c, err = client.Dial(""); err != nil {
						f.refused.Add(1)
						time.Sleep(time.Millisecond)
						continue
					}
				}
				if v, err := c.Invoke(f.ctx, question(session(g, n), command)); err == nil && v.Kind == "" {
					f.answered.Add(1)
				} else {
					f.refused.Add(1)
				}
			}
			if c != nil {
				_ = c.Close()
			}
		})
	}
}

// connect opens so many connections from each of several goroutines, and holds the last 200 of each.
func (f *flooding) connect(goroutines, each int, use func(socket int, c net.Conn)) {
	for range goroutines {
		f.all.Go(func() {
			var open []net.Conn
			defer func() {
				for _, c := range open {
					_ = c.Close()
				}
			}()
			for n := 0; f.ctx.Err() == nil && n < each; n++ {
				c, err := net.Dial("unix", []string{httpSocket, frameSocket}[n%2])
				if err != nil {
					time.Sleep(time.Millisecond)
					n--
					continue
				}
				f.connected.Add(1)
				end, _ := f.ctx.Deadline()
				_ = c.SetDeadline(end)
				use(n%2, c)
				open = append(open, c)
				if len(open) > 200 {
					_ = open[0].Close()
					open = slices.Delete(open, 0, 1)
				}
			}
		})
	}
}

func nothing(int, net.Conn) {}

// body64MiB sends a body of 64 MiB, or as much of it as is taken.
func body64MiB(socket int, c net.Conn) {
	const size = 64 << 20
	if socket == 0 {
		_, _ = fmt.Fprintf(c, "POST /v1/invoke HTTP/1.1\r\nHost: belay\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
	} else {
		_, _ = c.Write(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameInvoke, Length: daemonapi.MaxQuestion}))
	}
	_, _ = io.Copy(c, io.LimitReader(endless{}, size))
}

// endless is made of x.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// unread asks for much, again and again, and reads none of it.
func unread(socket int, c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if socket == 0 {
		_, _ = io.WriteString(c, strings.Repeat("GET /v1/events?limit=1000 HTTP/1.1\r\nHost: belay\r\n\r\n", 64))
		return
	}
	body := []byte(`{"phase":"pre_tool","runtime":"custom","session":"unread","action":{"tool":"exec","args":{"command":"ls"}}}`)
	frame := append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameInvoke, Length: len(body)}), body...)
	for range 256 {
		if _, err := c.Write(frame); err != nil {
			return
		}
	}
}

// byDrops sends a question byte by byte, and never all of it.
func byDrops(socket int, c net.Conn) {
	text := "POST /v1/invoke HTTP/1.1\r\nHost: belay\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
	if socket == 1 {
		text = string(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameInvoke, Length: 1000})) + "{"
	}
	go func() {
		for i := 0; ; i++ {
			drop := " "
			if i < len(text) {
				drop = text[i : i+1]
			}
			if _, err := io.WriteString(c, drop); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
}
