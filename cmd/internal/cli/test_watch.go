package cli

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// testEvery is how often files are looked at. Polling works on every file system,
// and a few hundred files cost nothing.
const testEvery = 300 * time.Millisecond

// watch runs the suites, and again whenever something changed that they read.
func (t *tester) watch(ctx context.Context) error {
	for {
		err := t.once(ctx)
		if ctx.Err() != nil {
			return nil // the person has seen enough
		}
		if err != nil && !failed(err) {
			t.app.report(err) // a file that is being written is no reason to give up
		}
		t.say("%s\n", t.app.palette().faint("waiting for changes; Ctrl-C ends it"))
		before := t.stamp()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(testEvery):
			}
			if t.stamp() != before {
				break
			}
		}
		t.where.Forget()
		t.say("\n")
	}
}

// stamp is the state of everything that the run depends on.
func (t *tester) stamp() string {
	var lines []string
	add := func(path string, fi fs.FileInfo) {
		lines = append(lines, fmt.Sprintf("%s %d %d", path, fi.Size(), fi.ModTime().UnixNano()))
	}
	look := func(path string) {
		_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is gone: that is a change, too
			}
			if name := d.Name(); d.IsDir() {
				if p != path && (strings.HasPrefix(name, ".") || name == "target" || name == "build" || name == "node_modules") {
					return fs.SkipDir
				}
				return nil
			}
			if fi, err := d.Info(); err == nil {
				add(p, fi)
			}
			return nil
		})
	}
	for _, a := range t.args {
		look(cmp.Or(strings.TrimSuffix(strings.TrimSuffix(a, "..."), "/"), "."))
	}
	for _, p := range t.seen {
		if fi, err := os.Stat(p); err == nil && !fi.IsDir() {
			add(p, fi)
		} else {
			look(p)
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
