package loader

import (
	"context"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/tiers"
)

// CompileOnce proves that an installed hook loads, and leaves its code in the cache of
// the state directory. compiler is as Options.Compiler. Errors are as those of Load, or
// statedir.ErrUnusable.
func CompileOnce(ctx context.Context, dir string, file []byte, m *tiers.Manifest, compiler []string) error {
	key, err := statedir.MakeKey(statedir.Keys(dir), "cache")
	if err != nil {
		return statedir.Unusable("keys", err)
	}
	engine, err := sandbox.Open(sandbox.Options{CacheDir: statedir.Cache(dir), CacheKey: key, Compiler: compiler})
	if err != nil {
		return statedir.Unusable("cache", err)
	}
	defer engine.Close()
	mod, err := engine.Inspect(file)
	if err != nil {
		return err
	}
	hooks, err := builtin.Load()
	if err != nil {
		return err
	}
	module, err := engine.Load(ctx, file, sandbox.LoadOptions{
		Class: sandbox.Installed, MemoryCap: memoryCap(&mod, m, 0), Declared: declaredBy(m),
		Trusted: hooks.Trusted(mod.Digest),
	})
	if err != nil {
		return err
	}
	module.Close()
	return nil
}
