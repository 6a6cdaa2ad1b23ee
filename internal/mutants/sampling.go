package mutants

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Folders lists the folders that patterns stand for; FOLDER/... is a folder and those below it that have tests of
// their own.
func (r *Runner) Folders(patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		top, tree := strings.CutSuffix(p, "/...")
		if !tree {
			out = append(out, p)
			continue
		}
		err := filepath.WalkDir(filepath.Join(r.Root, top), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case !d.IsDir():
				return nil
			case d.Name() == "testdata":
				return fs.SkipDir
			}
			tests, _ := filepath.Glob(filepath.Join(path, "*_test.go"))
			sources, _ := filepath.Glob(filepath.Join(path, "*.go"))
			if len(tests) == 0 || len(tests) == len(sources) {
				return nil // helpers of tests, or nothing but tests
			}
			rel, err := filepath.Rel(r.Root, path)
			out = append(out, filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Candidates lists every small change of the folders, in order of place.
func (r *Runner) Candidates(folders []string) ([]Change, error) {
	var out []Change
	for _, dir := range folders {
		files, err := r.Sources(dir)
		if err != nil {
			return nil, err
		}
		for path, src := range files {
			changes, err := Changes(path, src)
			if err != nil {
				return nil, err
			}
			out = append(out, changes...)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: nothing can be changed in %s", ErrNotFound, strings.Join(folders, ", "))
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.File, b.File) })
	return out, nil
}

// Tried is one small change with what the tests made of it.
type Tried struct {
	Change
	Result
	Folder  string
	Reached int // tests that reach it; -1 when that is not known
}

// Survey makes a seeded choice of count changes of the folders that compile, tries each, and tells of each as it goes.
// It works folder by folder, so that at most one test binary is there at a time.
func (r *Runner) Survey(ctx context.Context, folders []string, seed uint64, count int,
	tell func(*Tried)) (killed, tried int, err error) {
	all, err := r.Candidates(folders)
	if err != nil {
		return 0, 0, err
	}
	chosen := Sample(all, seed)
	binaries := map[string]*Binary{}
	for next := 0; tried < count && next < len(chosen); {
		// As many as are still missing; more where some of them do not compile.
		round := chosen[next:min(len(chosen), next+count-tried)]
		next += len(round)
		by := map[string][]Change{}
		for _, c := range round {
			by[r.folder(&c)] = append(by[r.folder(&c)], c)
		}
		for _, folder := range folders {
			if len(by[folder]) == 0 {
				continue
			}
			if binaries[folder] == nil {
				if binaries[folder], err = r.Build(ctx, folder); err != nil {
					return killed, tried, err
				}
			}
			for i := range by[folder] {
				t, err := r.try(ctx, binaries[folder], &by[folder][i])
				if err != nil {
					return killed, tried, err
				}
				if t.Outcome == Invalid {
					continue
				}
				tried++
				if t.Outcome == Killed {
					killed++
				}
				t.Folder = folder
				tell(t)
			}
		}
	}
	return killed, tried, nil
}

func (r *Runner) folder(c *Change) string {
	rel, err := filepath.Rel(r.Root, filepath.Dir(c.File))
	if err != nil {
		return filepath.Dir(c.File)
	}
	return filepath.ToSlash(rel)
}

// try runs the tests on one change.
func (r *Runner) try(ctx context.Context, b *Binary, c *Change) (*Tried, error) {
	n := slices.IndexFunc(b.changes, func(o Change) bool {
		return o.File == c.File && o.From == c.From && o.To == c.To && o.With == c.With
	})
	if n < 0 {
		return nil, fmt.Errorf("%w: %s changed meanwhile", ErrNotFound, c.File)
	}
	res, err := b.Test(ctx, n)
	if err != nil {
		return nil, err
	}
	t := &Tried{Change: *c, Result: res, Reached: -1}
	if reached, known := b.Reached(n); known {
		t.Reached = len(reached)
	}
	return t, nil
}
