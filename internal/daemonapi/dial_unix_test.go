//go:build unix

package daemonapi_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// A connection keeps its deadlines, and no program that this one becomes or starts gets it.
func TestConnections(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, daemonapi.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := daemonapi.DialDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("flags %x, %v: a program that is started gets the connection", flags, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read beyond its deadline: %v", err)
	}
	_ = conn.SetDeadline(time.Time{})
	time.AfterFunc(20*time.Millisecond, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if _, _, err := daemonapi.Exchange(t.Context(), conn, []byte("question"), nil); !errors.Is(err, daemonapi.ErrSick) {
		t.Errorf("a deadline that comes while it reads: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := daemonapi.DialDir(ended, dir); !errors.Is(err, context.Canceled) || !errors.Is(err, daemonapi.ErrSick) {
		t.Errorf("after the end of the context: %v", err)
	}
	if _, err := daemonapi.DialDir(t.Context(), dir+strings.Repeat("/x", 100)); !errors.Is(err, daemonapi.ErrNotRunning) {
		t.Errorf("a path that no socket can have: %v", err)
	}
}

// The texts of errors name the limits that are in force.
func TestLimitsInErrors(t *testing.T) {
	header := [daemonapi.FrameHeader]byte{daemonapi.FrameMagic, daemonapi.FrameVersion, byte(daemonapi.FrameInvoke), 0,
		255, 255, 255, 255}
	if _, err := daemonapi.DecodeQuestion(header); !errors.Is(err, daemonapi.ErrFrame) ||
		!errors.Is(err, daemonapi.ErrFrameLength) || !strings.Contains(err.Error(), strconv.Itoa(daemonapi.MaxQuestion)) {
		t.Error(err)
	}
	header[2] = byte(daemonapi.FrameAnswer)
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_, _ = there.Read(make([]byte, 9))
		_, _ = there.Write(header[:])
	}()
	if _, _, err := daemonapi.Exchange(t.Context(), here, []byte("x"), nil); !errors.Is(err, daemonapi.ErrSick) ||
		!strings.Contains(err.Error(), strconv.Itoa(daemonapi.MaxAnswer)) {
		t.Error(err)
	}
}
