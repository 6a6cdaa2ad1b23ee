package links

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// What path_resolve gives its walks.
const (
	testElements = 512
	testPathText = 4 << 10
)

func below(dir, p string) bool { return strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") }

// disk is the real file system, as belay looks at it.
type disk struct{}

func (disk) Readlink(_ context.Context, p string) (string, error) {
	target, err := os.Readlink(p)
	switch {
	case errors.Is(err, syscall.EINVAL):
		return "", ErrNotLink
	case errors.Is(err, syscall.ENOTDIR):
		return "", fs.ErrNotExist
	}
	return target, err
}

// tree makes a directory of directories, files and links to anywhere in it: up,
// down, absolute, relative, in circles and to nothing.
func tree(t testing.TB, rng *rand.Rand) (root string, names []string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{root}
	for n := range 12 {
		dir := dirs[rng.IntN(len(dirs))]
		p := filepath.Join(dir, strconv.Itoa(n))
		switch rng.IntN(4) {
		case 0:
			err = os.Mkdir(p, 0o700)
			dirs = append(dirs, p)
		case 1:
			err = os.WriteFile(p, nil, 0o600)
		default:
			err = os.Symlink(spelling(rng, root, dir), p)
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strconv.Itoa(n))
	}
	return root, names
}

// spelling makes a path of the tree in some spelling.
func spelling(rng *rand.Rand, root, dir string) string {
	parts := []string{}
	for range 1 + rng.IntN(4) {
		parts = append(parts, []string{strconv.Itoa(rng.IntN(14)), strconv.Itoa(rng.IntN(14)), "..", ".", ""}[rng.IntN(5)])
	}
	p := strings.Join(parts, "/")
	if rng.IntN(3) == 0 || strings.HasPrefix(p, "/") || p == "" {
		return root + "/" + p
	}
	return p
}

// A walk leads where the system's own does, and where the system finds nothing
// it does not claim to have arrived. With a limit it looks at nothing outside
// of it, and a walk within the limit has the same result.
func TestWalksAgreeWithTheSystem(t *testing.T) {
	seed := uint64(20260301)
	arrived, absent, looped, kept := 0, 0, 0, 0
	for round := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, round))
		root, _ := tree(t, rng)
		for range 60 {
			p := spelling(rng, root, root)
			if !strings.HasPrefix(p, "/") {
				p = root + "/" + p
			}
			free := &Walk{MaxElements: 4096, Read: func(ctx context.Context, p string) Found {
				return Look(ctx, disk{}, p)
			}}
			got := free.Follow(t.Context(), p)
			want, err := filepath.EvalSymlinks(p)
			switch {
			case err == nil:
				arrived++
				if got.State != Resolved || got.Whole() != want {
					t.Errorf("seed %d, round %d: %s: %+v, the system says %s", seed, round, p, got, want)
				}
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
				absent++
				// A file with .. behind it is an error of the system and none of ours.
				if got.State != Absent && !(got.State == Resolved && errors.Is(err, syscall.ENOTDIR)) {
					t.Errorf("seed %d, round %d: %s: %+v, the system says %v", seed, round, p, got, err)
				}
			default:
				looped++
				if got.State != Loop {
					t.Errorf("seed %d, round %d: %s: %+v, the system says %v", seed, round, p, got, err)
				}
			}

			fence := root + "/" + strconv.Itoa(rng.IntN(12))
			limited := &Walk{MaxElements: 4096,
				MayLook: func(p string) bool { return p == fence || below(p, fence) || below(fence, p) },
				Read: func(ctx context.Context, p string) Found {
					if p != fence && !below(p, fence) && !below(fence, p) {
						t.Errorf("looked at %s, outside of %s", p, fence)
					}
					return Look(ctx, disk{}, p)
				}}
			if w := limited.Follow(t.Context(), p); w.State != Partial {
				kept++
				if w.State != got.State || w.Path != got.Path || !slices.Equal(w.Rest, got.Rest) {
					t.Errorf("seed %d, round %d: %s within %s: %+v, without a limit %+v", seed, round, p, fence, w, got)
				}
			}
		}
	}
	if arrived < 300 || absent < 300 || looped < 10 || kept < 300 {
		t.Errorf("too little was tried: %d arrived, %d absent, %d in circles, %d within a limit", arrived, absent, looped,
			kept)
	}
	t.Logf("%d arrived, %d absent, %d in circles, %d within a limit", arrived, absent, looped, kept)
}

// As many links are followed as Linux follows for one path, and not one more.
func TestWalkCountsLinks(t *testing.T) {
	chain := &Walk{MaxElements: testElements, Read: func(_ context.Context, p string) Found {
		if n, err := strconv.Atoi(p[1:]); err == nil && n > 0 {
			return Found{Path: p, State: Link, Target: strconv.Itoa(n - 1)}
		}
		return Found{Path: p, State: Plain}
	}}
	if w := chain.Follow(t.Context(), "/40"); w.State != Resolved || w.Whole() != "/0" {
		t.Errorf("40 links: %+v", w)
	}
	if w := chain.Follow(t.Context(), "/41"); w.State != Loop {
		t.Errorf("41 links: %+v", w)
	}
}

// FuzzWalk holds walks over made-up links to what they promise: bounded, inside of
// the limit, and ending in a clean path.
func FuzzWalk(f *testing.F) {
	f.Add("/a/b/../c", "/a/b=../x;/x=/a;/a/c=.", "/a")
	f.Add("/l/l/l", "/l=/l/l", "/")
	f.Add("//a/./..//b", "/b=../../../b/b", "/b")
	f.Fuzz(func(t *testing.T, p, links, fence string) {
		if !strings.HasPrefix(p, "/") || len(p) > testPathText {
			return
		}
		targets := map[string]string{}
		for one := range strings.SplitSeq(links, ";") {
			if at, to, ok := strings.Cut(one, "="); ok && len(to) < testPathText {
				targets[at] = to
			}
		}
		reads := 0
		walk := &Walk{MaxElements: testElements, MayLook: func(p string) bool { return p == fence || below(fence, p) },
			Read: func(_ context.Context, p string) Found {
				reads++
				if p != filepath.Clean(p) || p[0] != '/' {
					t.Fatalf("looked at %q", p)
				}
				if p != fence && !below(fence, p) {
					t.Fatalf("looked at %q, outside of %q", p, fence)
				}
				to, ok := targets[p]
				switch {
				case !ok && strings.HasSuffix(p, "x"):
					return Found{Path: p, State: NotThere}
				case !ok:
					return Found{Path: p, State: Plain}
				case to == "?":
					return Found{Path: p, State: Unknown}
				}
				return Found{Path: p, Target: to, State: Link}
			}}
		w := walk.Follow(t.Context(), p)
		if walk.Elements > testElements || reads > walk.Elements {
			t.Fatalf("%d elements, %d looks", walk.Elements, reads)
		}
		if whole := w.Whole(); whole != filepath.Clean(whole) || whole[0] != '/' || w.Path != filepath.Clean(w.Path) {
			t.Fatalf("%+v", w)
		}
		if w.State == Resolved && len(w.Rest) > 0 {
			t.Fatalf("%+v", w)
		}
	})
}
