// Command buildexamples builds the example hooks and keeps their lock. It
// decides which of them are committed as modules: all but those in standard Go,
// which are megabytes. It never changes a module that --check looks at.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/suite"
)

func main() {
	check := flag.Bool("check", false,
		"build into a temporary directory and compare with what is committed; exit 1 on differences")
	root := flag.String("C", "examples-wasm", "directory of the examples")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: buildexamples [-C DIR] [-check] [NAME...]\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := builder{root: *root, check: *check, only: flag.Args()}
	different, err := b.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "buildexamples:", err)
		os.Exit(1)
	}
	if different {
		os.Exit(1)
	}
}

type builder struct {
	root  string
	check bool
	only  []string
}

func (b *builder) run(ctx context.Context) (different bool, err error) {
	lock, err := b.lock()
	if err != nil {
		return false, err
	}
	dirs, err := filepath.Glob(filepath.Join(b.root, "*", hookbuild.ManifestFile))
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "belay-examples-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	var built []hookbuild.LockedModule
	for _, file := range dirs {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		if len(b.only) > 0 && !slices.Contains(b.only, name) {
			continue
		}
		m, d, err := b.one(ctx, &lock, dir, scratch)
		if err != nil {
			return different, fmt.Errorf("%s: %w", name, err)
		}
		different = different || d
		if m.Name != "" {
			built = append(built, m)
		}
	}
	if b.check {
		return different, nil
	}
	return false,
		statedir.EditPublic(filepath.Join(b.root, hookbuild.LockFile), maxLock, func(src []byte) ([]byte, error) {
			now := hookbuild.Lock{Format: 1} // another run may have built others meanwhile
			if src != nil {
				var err error
				if now, err = hookbuild.ReadLock(src); err != nil {
					return nil, err
				}
			}
			for _, m := range built {
				now.Modules = slices.DeleteFunc(now.Modules, func(o hookbuild.LockedModule) bool { return o.Name == m.Name })
				now.Modules = append(now.Modules, m)
			}
			return now.Encode()
		})
}

// maxLock is the largest lock that is read, in bytes.
const maxLock = 1 << 20

func (b *builder) lock() (hookbuild.Lock, error) {
	text, err := os.ReadFile(filepath.Join(b.root, hookbuild.LockFile))
	if os.IsNotExist(err) {
		return hookbuild.Lock{Format: 1}, nil
	}
	if err != nil {
		return hookbuild.Lock{}, err
	}
	return hookbuild.ReadLock(text)
}

// one builds one example and returns what the lock says of it. Standard Go is not
// locked: it goes to build/, and m has no name.
func (b *builder) one(ctx context.Context, lock *hookbuild.Lock, dir,
	scratch string) (m hookbuild.LockedModule, different bool, err error) {
	name := filepath.Base(dir)
	lang, err := hookbuild.Detect(dir)
	if err != nil {
		return m, false, err
	}
	out := filepath.Join(dir, name+".wasm")
	switch {
	case b.check:
		out = filepath.Join(scratch, name+".wasm")
	case lang == "go":
		if err := os.MkdirAll(filepath.Join(dir, "build"), 0o755); err != nil {
			return m, false, err
		}
		out = filepath.Join(dir, "build", name+".wasm")
	}
	work := filepath.Join(scratch, lang) // shared: the SDK is compiled once for each language
	r, err := hookbuild.Build(ctx, dir, hookbuild.Options{Output: out, WorkDir: work, StandardGo: true})
	if err != nil {
		return m, false, err
	}
	fmt.Printf("%-20s %-14s %8d bytes  %s\n", name, lang, r.Size, r.Digest)
	if lang == "go" {
		return m, false, nil
	}
	source, err := hookbuild.SourceDigest(dir, lang)
	if err != nil {
		return m, false, err
	}
	m = hookbuild.LockedModule{
		Name: name, Language: lang, File: name + "/" + name + ".wasm",
		Digest: r.Digest, Size: r.Size, Source: source, Toolchain: r.Toolchain,
	}
	i := slices.IndexFunc(lock.Modules, func(o hookbuild.LockedModule) bool { return o.Name == name })
	if b.check {
		if i >= 0 && lock.Modules[i].Toolchain != m.Toolchain {
			different, err = b.behaves(ctx, dir, r.Path, lock.Modules[i].Toolchain, m)
			return m, different, err
		}
		return m, b.differs(lock, i, m), nil
	}
	return m, false, nil
}

// behaves stands in for the comparison of bytes where the tools are not those
// of the lock: the module built here must pass the cases.
func (b *builder) behaves(ctx context.Context, dir, file, locked string,
	m hookbuild.LockedModule) (different bool, err error) {
	fmt.Printf("%s: built with other tools, so its cases are run instead:\n  locked: %s\n  here:   %s\n", m.Name, locked,
		m.Toolchain)
	cases, err := suite.ReadCases(filepath.Join(dir, "cases"))
	if err != nil {
		return false, err
	}
	module, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		return false, err
	}
	defer func() { _ = e.Close() }()
	h := e.Hook(m.Name, module)
	for i := range cases {
		res, err := h.Run(ctx, &cases[i])
		if err != nil {
			return different, err
		}
		for _, d := range res.Differences {
			fmt.Printf("%s: %s: %s\n", m.Name, res.Case, d)
			different = true
		}
	}
	return different, nil
}

func (b *builder) differs(lock *hookbuild.Lock, i int, m hookbuild.LockedModule) bool {
	switch {
	case i < 0:
		fmt.Printf("%s: not in %s\n", m.Name, hookbuild.LockFile)
		return true
	case lock.Modules[i] != m:
		fmt.Printf("%s: differs from what is committed (%s)\n", m.Name, lock.Modules[i].Digest)
		return true
	}
	return false
}
