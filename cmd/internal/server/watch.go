package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/rules"
)

// watch takes up what changed on the disk: belay.yaml, a rules file or a file of options when it has become
// another file, a module that could not be loaded when there is another file in its place, and all of
// it again for as long as it cannot be used. A module that is found broken is loaded once
// more: its file may be back since, and then no later look tells that. What keeps a reload from being done (a pipe
// that stands in for a key, a store without space) ends without a change of belay.yaml.
func (s *Server) watch(ctx context.Context) {
	if s.o.Watch < 0 {
		return
	}
	seen, broken := s.written(), map[string]string{}
	tick := time.NewTicker(s.o.Watch)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_ = s.host.SweepApprovals(ctx) // so that the end of a question is logged when it comes
		now, mended := s.written(), false
		was := broken
		broken = s.broken()
		for file, g := range broken {
			before, known := was[file]
			mended = mended || !known || before != g
		}
		if now != seen || mended || s.badConfig.Load() != nil {
			seen = now
			_ = s.Reload(ctx) // logged, and in the status
		}
	}
}

// written has a glance at belay.yaml, and at the rules files and files of options that it names.
func (s *Server) written() string {
	all := glance(filepath.Join(s.o.Dir, config.FileName))
	for _, b := range s.host.Bindings() {
		if file, _, ok := rules.ParseModule(b.Module); ok && !b.Disabled {
			all += " " + glance(s.inside(file))
		}
		if b.ConfigFile != "" && !b.Disabled {
			all += " " + glance(s.inside(b.ConfigFile))
		}
	}
	return all
}

func (s *Server) inside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.o.Dir, path)
}

// broken has a glance at the files of the modules that could not be loaded, by path.
func (s *Server) broken() map[string]string {
	all := map[string]string{}
	for _, b := range s.host.Bindings() {
		if b.Problem == "" || b.Disabled || strings.HasPrefix(b.Module, "builtin:") {
			continue
		}
		path := b.Module
		if digest, ok := strings.CutPrefix(path, "sha256:"); ok {
			path = filepath.Join("blobs", "sha256", digest)
		}
		if file, _, ok := rules.ParseModule(path); ok {
			path = file
		}
		path = s.inside(path)
		all[path] = glance(path)
	}
	return all
}

// glance tells files apart without reading them.
func glance(path string) string {
	fi, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%v %d %d %v", fi.Mode().Type(), fi.Size(), fi.ModTime().UnixNano(), fileID(fi))
}
