//go:build unix

package server

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Large reads on connections with one pace take turns; small ones, and those of others, do not. A sender that says
// nothing has no turn.
func TestReadsOfBodiesTakeTurns(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pace := make(chan struct{}, 1)
	of := newLimited(l, 8, func(want, error) {}).paced(pace)
	connect := func() (ours, theirs net.Conn) {
		theirs, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { theirs.Close() })
		if ours, err = of.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ours.Close() })
		return ours, theirs
	}
	silent, _ := connect()
	go func() { _, _ = silent.Read(make([]byte, 1<<20)) }()
	ours, theirs := connect()
	if _, err := theirs.Write(bytes.Repeat([]byte("x"), 3*frameBuffer)); err != nil {
		t.Fatal(err)
	}
	if n, err := ours.Read(make([]byte, 1<<20)); n != 3*frameBuffer || err != nil {
		t.Errorf("%d bytes beside a silent sender, %v", n, err)
	}
	pace <- struct{}{}
	if _, err := theirs.Write(bytes.Repeat([]byte("x"), 3*frameBuffer)); err != nil {
		t.Fatal(err)
	}
	if n, err := ours.Read(make([]byte, frameBuffer)); n != frameBuffer || err != nil {
		t.Errorf("a header waits for bodies: %d bytes, %v", n, err)
	}
	read := make(chan int)
	go func() {
		n, _ := ours.Read(make([]byte, 1<<20))
		read <- n
	}()
	select {
	case n := <-read:
		t.Errorf("%d bytes are read while another body is", n)
	case <-time.After(50 * time.Millisecond):
	}
	<-pace
	if n := <-read; n != 2*frameBuffer {
		t.Errorf("%d bytes behind it", n)
	}
	_ = ours.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := ours.Read(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("behind the deadline: %v", err)
	}
	_ = ours.SetReadDeadline(time.Time{})
	_ = theirs.Close()
	if n, err := ours.Read(make([]byte, 1<<20)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if len(pace) != 0 {
		t.Error("a turn is lost")
	}
}
