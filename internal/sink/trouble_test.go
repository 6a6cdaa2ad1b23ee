package sink_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
)

func TestTroubleOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want sink.Trouble
	}{
		{nil, ""},
		{kernel.ErrRollback, sink.RolledBack},
		{kernel.ErrTampered, sink.Tampered},
		{sink.ErrForeign, sink.Foreign},
		{syscall.ENOSPC, sink.DiskFull},
		{syscall.EDQUOT, sink.DiskFull},
		{syscall.EFBIG, sink.DiskFull},
		{errors.New("sqlite3: database or disk is full"), sink.DiskFull},
		{syscall.EIO, sink.IOError},
		{errors.New("sqlite3: disk I/O error"), sink.IOError},
		{fs.ErrPermission, sink.NoAccess},
		{syscall.EROFS, sink.NoAccess},
		{errors.New("sqlite3: attempt to write a readonly database"), sink.NoAccess},
		{errors.New("anything else"), sink.Unavailable},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("write: %w", err)
		}
		if got := sink.TroubleOf(err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	behind := fmt.Errorf("%w: %w", kernel.ErrRollback,
		&highwater.Error{Class: highwater.ErrBehind, Reason: "it ends at event 3"})
	if trouble, text := sink.Explain(behind, ""); trouble != sink.RolledBack ||
		strings.Contains(text, kernel.ErrRollback.Error()) || !strings.Contains(text, "it ends at event 3") {
		t.Errorf("%s %q", trouble, text)
	}
	if trouble, text := sink.Explain(syscall.ENOSPC, ""); trouble != sink.DiskFull ||
		!strings.HasPrefix(text, "the disk is full: ") {
		t.Errorf("%s %q", trouble, text)
	}
	// There is space beside the file: an I/O error is one.
	if trouble, text := sink.Explain(syscall.EIO, t.TempDir()+"/out"); trouble != sink.IOError ||
		text != syscall.EIO.Error() {
		t.Errorf("%s %q", trouble, text)
	}
	if _, text := sink.Explain(errors.New(strings.Repeat("x", 1<<20)), ""); len(text) > 1<<10 {
		t.Errorf("%d bytes", len(text))
	}
}
