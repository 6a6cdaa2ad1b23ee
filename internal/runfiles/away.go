package runfiles

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/phases"
)

// whyAway is why the text of another user's file is not told.
const whyAway = "it is a file of the user who asks, which belay does not read"

// maxAwayElements bounds one walk to a file of another user.
const maxAwayElements = 512

// Links tells where symbolic links lead, as hostcalls.FileSystem does.
type Links interface {
	Readlink(ctx context.Context, path string) (target string, err error)
}

// Away is Of for files of another user, which are never read: each that a command would run is told without its text.
// One of which files cannot tell whether it is there counts as there.
func Away(ctx context.Context, inv *phases.Invocation, files Links) []File {
	return of(inv, &away{&links.Walk{MaxElements: maxAwayElements,
		Read: func(ctx context.Context, p string) links.Found { return links.Look(ctx, files, p) }}, ctx})
}

// away looks for files of another user.
type away struct {
	walk *links.Walk
	ctx  context.Context //nolint:containedctx // of one call of Away
}

// places returns the directories whose files are told, by the names that they are called and where links lead.
func (a *away) places(cwd string) (out []string) {
	root := cwd
	for dir, n := cwd, 0; n < 16 && filepath.Dir(dir) != dir; dir, n = filepath.Dir(dir), n+1 {
		if s := a.walk.Read(a.ctx, filepath.Join(dir, ".git")).State; s == links.Plain || s == links.Link {
			root = dir
			break
		}
	}
	for _, dir := range []string{root, cwd, "/tmp", "/var/tmp", "/dev/shm"} {
		real, err := a.real(dir)
		for _, d := range []string{dir, real} {
			if err == nil && d != "/" && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// real returns where links lead, or the path as far as they can be told. The error is fs.ErrNotExist.
func (a *away) real(path string) (string, error) {
	w := a.walk.Follow(a.ctx, path)
	if w.State == links.Absent {
		return "", fs.ErrNotExist
	}
	return w.Whole(), nil
}
