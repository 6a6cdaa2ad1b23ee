//go:build unix

package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

const descriptorsEnv = "BELAY_TEST_DESCRIPTORS"

// limitDescriptors leaves a child as many file descriptors as the test says.
func limitDescriptors() {
	n, err := strconv.ParseUint(os.Getenv(descriptorsEnv), 10, 31)
	if err != nil {
		return
	}
	var l syscall.Rlimit
	if err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err == nil {
		l.Cur = n
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// A daemon without file descriptors closes connections that idle, says so, and goes on.
func TestTheDaemonGoesOnWithoutDescriptors(t *testing.T) {
	dir := stateDir(t, emptyConfig)
	child := startChild(t, dir, descriptorsEnv+"=40")
	c := dial(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	// its first connections are open
	if v, err := c.Invoke(ctx, invocation("s", "ls")); err != nil || v.Decision != phases.Allow {
		t.Fatalf("%s %v", v.Decision, err)
	}
	socket := filepath.Join(dir, daemonapi.SocketName)
	for range 60 {
		idle(t, socket)
	}
	if v, err := c.Invoke(ctx, invocation("s", "ls")); err != nil || v.Decision != phases.Allow {
		t.Errorf("%s %s %v", v.Decision, v.Reason, err)
	}
	if log := child.Stderr.(*lockedBuffer).String(); !strings.Contains(log, "file descriptors or no memory left") {
		t.Errorf("log: %s", log)
	}
}
