package runfiles

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/internal/links"
)

// From says where the files of a call lie.
type From struct {
	Source filesource.Source
	Home   string // of the user who asks; "": not known
	Temp   string // a directory for temporary files beside the usual ones; "": none
}

// maxElements bounds one walk along links.
const maxElements = 512

// maxAbove is how far above a directory its repository is looked for.
const maxAbove = 16

// look looks at a path, once for each call.
func (r *runs) look(ctx context.Context, path string) links.Found {
	found, ok := r.looked[path]
	if !ok {
		found = links.Look(ctx, r.from.Source, path)
		r.looked[path] = found
	}
	return found
}

// real returns where links lead: as far as that can be told, and then the path as it is written. Without ok nothing is
// there.
func (r *runs) real(path string) (real string, ok bool) {
	walk := links.Walk{MaxElements: maxElements, Read: r.look}
	w := walk.Follow(r.ctx, path)
	return w.Whole(), w.State != links.Absent
}

// places finds the directories whose files are told: the project, as far up as its repository begins, and those for
// temporary files. Where links cannot be told, their names count as well.
func (r *runs) places() []string {
	if r.allowed != nil {
		return r.allowed
	}
	r.allowed = []string{}
	root := r.cwd
	for dir, n := r.cwd, 0; n < maxAbove && dir != r.from.Home && filepath.Dir(dir) != dir; n++ {
		if s := r.look(r.ctx, filepath.Join(dir, ".git")).State; s == links.Plain || s == links.Link {
			root = dir
			break
		}
		dir = filepath.Dir(dir)
	}
	for _, dir := range []string{root, r.cwd, r.from.Temp, "/tmp", "/var/tmp", "/dev/shm"} {
		if !filepath.IsAbs(dir) {
			continue
		}
		if real, ok := r.real(dir); ok && real != "/" && !slices.Contains(r.allowed, real) {
			r.allowed = append(r.allowed, real)
		}
	}
	return r.allowed
}
