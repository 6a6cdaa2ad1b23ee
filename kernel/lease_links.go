package kernel

import (
	"context"

	"github.com/belay-hooks/belay/internal/links"
)

// maxFollowed bounds the elements that are looked at for one path.
const maxFollowed = 4096

// linkResolver resolves symbolic links for what leases cover, or is nil where the
// kernel sees no files. It answers false for what cannot be told. Between this look
// and the use of a file, another process can still put a link in its place.
func (k *Kernel) linkResolver(ctx context.Context) func(string) (string, bool) {
	if k.options.Files == nil {
		return nil
	}
	walk := &links.Walk{
		Read:        func(ctx context.Context, p string) links.Found { return links.Look(ctx, k.options.Files, p) },
		MaxElements: maxFollowed,
	}
	return func(p string) (string, bool) {
		w := walk.Follow(ctx, p)
		switch {
		case w.State == links.Resolved, w.State == links.Absent && !w.Climbs():
			// Where nothing is, nothing below it leads elsewhere.
			return w.Whole(), true
		}
		return "", false
	}
}
