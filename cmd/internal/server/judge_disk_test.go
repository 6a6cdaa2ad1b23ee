package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// What a daemon refused because its disk failed is judged when the disk works again: the
// session that the guard passes goes on, and the one that it blocks is held by the guard.
func TestWhatAFailingDiskRefusedIsJudged(t *testing.T) {
	for name, frozen := range map[string]string{"passes": "false", "blocks": "true"} {
		t.Run(name, func(t *testing.T) {
			disk := &badDisk{VFS: vfs.Find("")}
			vfs.Register("judging-"+name, disk)
			t.Cleanup(func() { vfs.Unregister("judging-" + name) })
			path := filepath.Join(t.TempDir(), "belay.db")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			store, err := sqlite.Open(t.Context(), path, sqlite.Options{VFS: "judging-" + name})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			d := startDaemon(t, withRetention,
				withConfig(strings.Replace(startGuard, "frozen: false", "frozen: "+frozen+", reason: closed today", 1)),
				func(s *setup) { s.belay.Store = store })
			// The first reads of a process go over the writer's connection, which needs no disk for them.
			for range 100 {
				if _, err := d.host.Latches(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			all := []*atomic.Bool{&disk.writes, &disk.syncs, &disk.reads} // else the guard decides, and that is noted
			for _, b := range all {
				b.Store(true)
			}
			for range 2 {
				if body := d.tell(t, "s-1", "SessionStart"); strings.Contains(body, `"decision":"allow"`) {
					t.Errorf("on a disk that fails: %s", body)
				}
			}
			if body := d.tell(t, "s-1", "PreToolUse"); !strings.Contains(body, "deny") {
				t.Errorf("on a disk that fails: %s", body)
			}
			for _, b := range all {
				b.Store(false)
			}
			body := d.tell(t, "s-1", "PreToolUse")
			list, err := d.host.Latches(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if frozen == "true" {
				if !strings.Contains(body, "closed today") || !strings.Contains(body, "belay latch clear claude-code s-1") ||
					len(list) != 1 || list[0].DecidedBy != "freeze" {
					t.Errorf("%s %+v", body, list)
				}
				return
			}
			if strings.Contains(body, "deny") || len(list) != 0 {
				t.Errorf("%s %+v", body, list)
			}
			lifted, err := d.host.Events(t.Context(),
				wire.Query{Type: phases.EventLatch, Decision: kernel.DecisionLifted})
			if err != nil || len(lifted) != 1 {
				t.Errorf("%+v, %v", lifted, err)
			}
		})
	}
}
