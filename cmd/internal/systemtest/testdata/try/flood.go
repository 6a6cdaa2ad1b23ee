package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// crowd opens connections, says nothing on them, and keeps them until its input ends: `crowd N`. It prints how many were
// opened, and how many of them the daemon has not closed a moment later.
func crowd(a []string) error {
	var open []net.Conn
	names := []string{daemonapi.SocketName, daemonapi.FrameSocketName}
	for n, end := 0, time.Now().Add(30*time.Second); n < number(a[0]) && time.Now().Before(end); {
		c, err := net.Dial("unix", machineSocket(names[n%2]))
		if err != nil { // the system's queue of connections is full
			time.Sleep(time.Millisecond)
			continue
		}
		open = append(open, c)
		n++
	}
	time.Sleep(500 * time.Millisecond)
	var left int
	for _, c := range open {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond / 10))
		one := make([]byte, 1)
		if _, err := c.Read(one); err != nil && os.IsTimeout(err) {
			left++
		}
	}
	fmt.Println(len(open), left)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errSaid
}

// huge sends so many MiB as the body of one question: `huge MIB`. It prints how many were taken, and the answer.
func huge(a []string) error {
	c, err := net.Dial("unix", machineSocket(daemonapi.SocketName))
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	size := number(a[0]) << 20
	_, _ = fmt.Fprintf(c, "POST /v1/invoke HTTP/1.1\r\nHost: belay\r\nContent-Type: application/json\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n", size)
	piece := []byte(strings.Repeat("x", 1<<20))
	var taken int
	for taken < size {
		n, err := c.Write(piece)
		taken += n
		if err != nil {
			break
		}
	}
	answer, _ := io.ReadAll(io.LimitReader(c, 64<<10))
	first, _, _ := strings.Cut(string(answer), "\r\n")
	_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
	fmt.Println(taken>>20, first, body)
	return errSaid
}

// deaf asks for all events and for decisions on connections that it never reads, until its input ends: `deaf CONNECTIONS`.
func deaf(a []string) error {
	invocation := []byte(`{"phase":"pre_tool","runtime":"custom","session":"deaf","action":{"tool":"exec","args":{"command":"ls"}}}`)
	frame := append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameInvoke, Length: len(invocation)}),
		invocation...)
	var all sync.WaitGroup
	for n := range number(a[0]) {
		name, question := daemonapi.SocketName, []byte("GET /v1/events?limit=1000 HTTP/1.1\r\nHost: belay\r\n\r\n")
		if n%2 == 1 {
			name, question = daemonapi.FrameSocketName, frame
		}
		c, err := net.Dial("unix", machineSocket(name))
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		all.Go(func() {
			for range 500 {
				if _, err := c.Write(question); err != nil {
					break
				}
			}
		})
	}
	all.Wait()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errSaid
}

// steady asks about one command after the other, each of another name, in so many lines at once, until its input ends:
// `steady NAME LINES`. It prints the command and the verdict's id for each that was released.
func steady(a []string) error {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var out sync.Mutex
	var failed atomic.Int64
	for line := range number(a[1]) {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; {
				c, err := client.Dial("")
				if err != nil {
					failed.Add(1)
					time.Sleep(2 * time.Millisecond)
					continue
				}
				for ctx.Err() == nil {
					n++
					command := fmt.Sprintf("echo %s-%d-%d", a[0], line, n)
					within, stop := context.WithTimeout(context.Background(), 10*time.Second)
					v, err := c.Invoke(within, phases.Invocation{Phase: phases.PreTool, Runtime: "custom",
						Session: a[0] + strconv.Itoa(line), Action: []byte(`{"tool":"exec","args":{"command":"` + command + `"}}`)})
					stop()
					if err != nil {
						failed.Add(1)
						break
					}
					out.Lock()
					fmt.Println(command, v.ID, v.Decision)
					out.Unlock()
				}
				_ = c.Close()
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
	fmt.Println("failed", failed.Load())
	return errSaid
}

// rush puts files, links, pipes and directories where files of belay's are expected, and takes away what is there, until
// its input ends: `rush PATH …`. It prints how often it tried, and how often that went.
func rush(a []string) error {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	fmt.Println("ready")
	var tried, went int
	for {
		for _, p := range a {
			for _, try := range []func([]string) error{write, fifo, mkdir, remove, bind, chmod, chown} {
				tried++
				if try([]string{p}) == nil {
					went++
				}
			}
			for _, try := range []func([]string) error{symlink, hard, rename} {
				tried++
				if try([]string{"/home/alice/own/belay.yaml", p}) == nil {
					went++
				}
			}
		}
		select {
		case <-done:
			fmt.Println(tried, went)
			return errSaid
		default:
		}
	}
}
