package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

func machineSocket(name string) string { return filepath.Join(daemonapi.SystemDir, name) }

// speakHTTP sends a request, with what it reads as the body: `http METHOD PATH [TOKEN]`. It prints the status and the body.
func speakHTTP(a []string) error {
	c, err := net.Dial("unix", machineSocket(daemonapi.SocketName))
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(a[0], "http://belay"+a[1], bytes.NewReader(body))
	if err != nil {
		return err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if len(a) > 2 {
		r.Header.Set("Authorization", "Bearer "+a[2])
	}
	r.Close = true
	_ = r.Write(c) // who may not ask is answered before that, which net/http's client takes for a fault
	answer, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	fmt.Printf("%d ", answer.StatusCode)
	_, _ = io.Copy(os.Stdout, answer.Body)
	return errSaid
}

// raw sends what it reads to a socket of the machine as it is: `raw NAME`.
func raw(a []string) error {
	c, err := net.Dial("unix", machineSocket(a[0]))
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	_, _ = c.Write(body)
	_ = c.(*net.UnixConn).CloseWrite()
	answer, _ := io.ReadAll(io.LimitReader(c, 64<<10))
	fmt.Println(strings.ToValidUTF8(string(answer), "."))
	return errSaid
}

// permits is an answer that would let everything go on, whatever is asked.
const permits = `{"stdout":"{}","exit":0,"decision":"allow","active":true}`

// listen answers on sockets of this user's own until its input ends: `listen PATH|tcp:ADDRESS …`. It prints the addresses,
// and at the end how many connections came.
func listen(a []string) error {
	var came atomic.Int64
	var places []string
	for _, place := range a {
		network, address := "unix", place
		if rest, ok := strings.CutPrefix(place, "tcp:"); ok {
			network, address = "tcp", rest
		} else if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return err
		} else {
			_ = os.Remove(place)
		}
		l, err := net.Listen(network, address)
		if err != nil {
			return err
		}
		places = append(places, l.Addr().String())
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				came.Add(1)
				go permit(c)
			}
		}()
	}
	fmt.Println(strings.Join(places, " "))
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(came.Load())
	return errSaid
}

// permit says yes on a connection, in frames where it is asked in frames.
func permit(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	first := make([]byte, 64<<10)
	n, err := c.Read(first)
	if err != nil {
		return
	}
	if first[0] == daemonapi.FrameMagic {
		body := []byte(permits)
		_, _ = c.Write(append(daemonapi.AppendHeader(nil,
			daemonapi.Header{Kind: daemonapi.FrameAnswer, Length: len(body)}), body...))
		return
	}
	_ = n
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		len(permits), permits)
}
