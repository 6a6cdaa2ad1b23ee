package hookbuild

import (
	"context"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
)

// Rebuild builds the module of a lock in root anew, caches compiler output in
// work, and returns it. Under the tools that the lock names it has to be the
// same bytes; the error is ErrModule when it is not. Under others same is
// false, and the caller has to test the module's behaviour.
func Rebuild(ctx context.Context, root string, m LockedModule, work string) (module []byte, same bool, err error) {
	out := filepath.Join(work, m.Name+".wasm")
	r, err := Build(ctx, filepath.Join(root, m.Name),
		Options{Output: out, Language: m.Language, WorkDir: work, StandardGo: true})
	if err != nil {
		return nil, false, err
	}
	if module, err = files.Read(out, maxModule); err != nil {
		return nil, false, failure(ErrModule, err, "%s cannot be read: %v", out, reason(err))
	}
	if r.Toolchain != m.Toolchain {
		return module, false, nil
	}
	if r.Digest != m.Digest {
		return nil, false,
			failure(ErrModule, nil, "%s was built with the same tools (%s) and is another module: %s, locked is %s", m.Name,
				m.Toolchain, r.Digest, m.Digest)
	}
	return module, true, nil
}
