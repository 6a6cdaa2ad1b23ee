// Command flood asks the machine's daemon: politely, or as badly as a user can.
//
//	flood ask N        N questions, one after the other; prints the median and the 99th percentile in µs
//	flood bad SECONDS  takes every place there is, for so long; prints how many questions were answered and refused
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err == nil && os.Args[1] == "ask" {
		err = ask(n)
	} else if err == nil {
		err = bad(time.Duration(n) * time.Second)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func question(session string) phases.Invocation {
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: session,
		Action: []byte(`{"tool":"exec","args":{"command":"ls -l"}}`)}
}

func ask(n int) error {
	c, err := client.Dial("")
	if err != nil {
		return err
	}
	defer c.Close()
	var took []time.Duration
	for range n {
		began := time.Now()
		v, err := c.Invoke(context.Background(), question("polite"))
		if err != nil || v.Decision != phases.Allow {
			return fmt.Errorf("%s %s: %w", v.Decision, v.Reason, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	fmt.Println(took[len(took)/2].Microseconds(), took[len(took)*99/100].Microseconds())
	return nil
}

func bad(long time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	var all sync.WaitGroup
	var answered, refused, connected atomic.Int64
	for g := range 64 {
		all.Go(func() {
			c, err := client.Dial("")
			if err != nil {
				refused.Add(1)
				return
			}
			defer c.Close()
			for ctx.Err() == nil {
				if v, err := c.Invoke(ctx, question("bad-"+strconv.Itoa(g))); err == nil && v.Kind == "" {
					answered.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	// Connections that say nothing, that send without an end, and that do not read.
	for g := range 8 {
		all.Go(func() {
			var open []net.Conn
			defer func() {
				for _, c := range open {
					_ = c.Close()
				}
			}()
			for n := 0; ctx.Err() == nil && n < 1250; n++ {
				c, err := net.Dial("unix", "/run/belay/"+[]string{"belay.sock", "frame.sock"}[n%2])
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				connected.Add(1)
				_ = c.SetDeadline(time.Now().Add(time.Second))
				switch {
				case g == 0 && n%50 == 0:
					_, _ = io.WriteString(c, "POST /v1/invoke HTTP/1.1\r\nHost: belay\r\nContent-Type: application/json\r\nContent-Length: 67108864\r\n\r\n")
					_, _ = io.Copy(c, io.LimitReader(strings.NewReader(strings.Repeat("x", 1<<20)), 64<<20))
				case g == 1:
					_, _ = io.WriteString(c, "GET /v1/events HTTP/1.1\r\nHost: belay\r\n\r\n")
				}
				open = append(open, c)
				if len(open) > 200 {
					_ = open[0].Close()
					open = open[1:]
				}
			}
		})
	}
	all.Wait()
	fmt.Println(answered.Load(), refused.Load(), connected.Load())
	return nil
}
