package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

// echoMain is the program with nothing behind its socket: what it takes in, it gives back.
func echoMain(kind, socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if kind == "http" {
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err == nil {
					_, _ = w.Write(body)
				}
			})}
		return server.Serve(l)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			for {
				frame, err := readFrame(conn)
				if err != nil || writeFrame(conn, frame) != nil {
					return
				}
			}
		}()
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, min(binary.BigEndian.Uint32(size[:]), 8<<20))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func writeFrame(w io.Writer, frame []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}

// start runs a program until the yard closes, and waits until it listens.
func (y *yard) start(ctx context.Context, socket string, cmd *exec.Cmd) (pid int, err error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	y.atEnd(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for range 600 {
		if conn, err := net.Dial("unix", socket); err == nil {
			return cmd.Process.Pid, conn.Close()
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return 0, fmt.Errorf("%s does not listen: %s", filepath.Base(cmd.Path), said.Bytes())
}

func (y *yard) echo(ctx context.Context, kind string) (socket string, pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	socket = filepath.Join(y.work, kind+".sock")
	pid, err = y.start(ctx, socket, exec.Command(self, "echo", kind, socket))
	return socket, pid, err
}

// belayBinaries builds belay's commands. They are copied after that, as an installation does: the linker
// leaves its output in small pages of the system's cache, from which a large program starts later.
func (y *yard) belayBinaries(ctx context.Context) (dir string, err error) {
	built := filepath.Join(y.work, "built")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", built+string(filepath.Separator), "./cmd/belay",
		"./cmd/belay-eval", "./cmd/belay-hook", "./cmd/belay-hook/testdata/roundtrip",
		"./internal/store/sqlite/biglog")
	cmd.Dir = y.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	dir = filepath.Join(y.work, "bin")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, os.DirFS(built))
}

// bound makes a state directory in which the policy in C is bound.
func (y *yard) bound(ctx context.Context, name string) (dir string, err error) {
	module, err := y.guest(ctx, "c")
	if err != nil {
		return "", err
	}
	file := filepath.Join(y.work, "policy.wasm")
	if err := os.WriteFile(file, module, 0o600); err != nil {
		return "", err
	}
	return y.state(name, fmt.Sprintf("hooks:\n  - {name: policy, module: %s, digest: 'sha256:%x', capabilities: [block]}\n",
		file, sha256.Sum256(module)))
}

// daemon serves a state directory in which the policy is bound.
func (y *yard) daemon(ctx context.Context, bin string) (dir string, pid int, err error) {
	if dir, err = y.bound(ctx, "served"); err != nil {
		return "", 0, err
	}
	cmd := exec.Command(filepath.Join(bin, "belay"), "--state", dir, "serve")
	pid, err = y.start(ctx, filepath.Join(dir, "belay.sock"), cmd)
	return dir, pid, err
}

// asks is one decision of belay's daemon.
func asks(c *client.Client, inv phases.Invocation) func(context.Context) error {
	return func(ctx context.Context) error {
		v, err := c.Invoke(ctx, inv)
		if err == nil && v.Decision != phases.Allow {
			err = fmt.Errorf("%s: %s", v.Decision, v.Reason)
		}
		return err
	}
}

// served starts a daemon in which the policy is bound, and returns the event that it is asked about.
func (y *yard) served(ctx context.Context) (dir string, pid int, inv phases.Invocation, err error) {
	bin, err := y.belayBinaries(ctx)
	if err != nil {
		return "", 0, inv, err
	}
	if inv, _, err = event(); err != nil {
		return "", 0, inv, err
	}
	dir, pid, err = y.daemon(ctx, bin)
	return dir, pid, inv, err
}

func openFrames(ctx context.Context, y *yard) ([]subject, error) {
	socket, echo, err := y.echo(ctx, "framed")
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = conn.Close() })
	dir, pid, inv, err := y.served(ctx)
	if err != nil {
		return nil, err
	}
	slim, err := client.Dial(dir)
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = slim.Close() })
	whole, err := client.New(client.Options{Socket: filepath.Join(dir, "belay.sock"), Frames: dir, Whole: true})
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = whole.Close() })
	return []subject{
		{name: "an echo, length and bytes", pids: []int{echo}, note: "unix socket", do: func(context.Context) error {
			if err := writeFrame(conn, eventText); err != nil {
				return err
			}
			back, err := readFrame(conn)
			if err == nil && !bytes.Equal(back, eventText) {
				err = errors.New("it is no echo")
			}
			return err
		}},
		{name: "belay, frames", pids: []int{pid}, note: "durable decision, Go client", do: asks(slim, inv)},
		{name: "belay, frames, whole verdict", pids: []int{pid}, note: "with the hooks' reports", do: asks(whole, inv)},
	}, nil
}

func openHTTP(ctx context.Context, y *yard) ([]subject, error) {
	socket, echo, err := y.echo(ctx, "http")
	if err != nil {
		return nil, err
	}
	web := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
	y.atEnd(web.CloseIdleConnections)
	dir, pid, inv, err := y.served(ctx)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{Socket: filepath.Join(dir, "belay.sock")})
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = c.Close() })
	return []subject{
		{name: "an echo, HTTP", pids: []int{echo}, note: "unix socket", do: func(ctx context.Context) error {
			return post(ctx, web, eventText)
		}},
		{name: "belay, HTTP", pids: []int{pid}, note: "durable decision, Go client", do: asks(c, inv)},
	}, nil
}

func post(ctx context.Context, web *http.Client, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://echo/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
