package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/cover"
	"github.com/belay-hooks/belay/internal/suite"
)

// hookCover is what ran of one hook in all its suites.
type hookCover struct {
	name   string
	source string // its folder; "" when not known
	hook   *suite.Hook

	profile *cover.Profile
	files   []ownFile
}

// ownFile is a source file of the hook itself: not of an SDK, a runtime or a library.
type ownFile struct {
	cover.File
	path string // as it is found from here
	rel  string // in the hook's folder
}

func sortedCover(m map[string]*hookCover) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(m[a].name, m[b].name), cmp.Compare(a, b)) })
	return keys
}

// profile makes the profiles.
func (t *tester) profile(run *testRun) error {
	lines := 0
	for _, c := range run.cover {
		if c.profile = c.hook.Coverage(); c.profile == nil {
			c.profile = &cover.Profile{}
		}
		c.own()
		for _, f := range c.files {
			lines += len(f.Lines)
		}
	}
	if t.o.coverProfile != "" && lines == 0 {
		return failure("no hook has line numbers, so that there is no profile",
			"Build them with line numbers: --build. Hooks in C, Rust and TinyGo have them then; --cover shows functions without.")
	}
	return nil
}

// own finds the source files of the hook among those that its code was made of.
func (c *hookCover) own() {
	if c.source == "" {
		return
	}
	root, err := filepath.Abs(c.source)
	if err != nil {
		return
	}
	for _, file := range c.profile.Files {
		name := filepath.ToSlash(file.Name)
		rel := ""
		switch first, rest, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/"); {
		case strings.HasPrefix(name, filepath.ToSlash(root)+"/"):
			rel = strings.TrimPrefix(name, filepath.ToSlash(root)+"/")
		case !strings.HasPrefix(name, "/"):
			rel = strings.TrimPrefix(name, "./")
		case first == filepath.Base(root) || first == path.Base(c.name): // builds leave the place of the source out
			rel = rest
		}
		if rel == "" || strings.HasPrefix(rel, "sdk/") || !filepath.IsLocal(filepath.FromSlash(rel)) {
			continue
		}
		p := filepath.Join(c.source, filepath.FromSlash(rel))
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			c.files = append(c.files, ownFile{File: file, path: p, rel: rel})
		}
	}
}

// linesOf counts the hook's own lines.
func (c *hookCover) lines() (all, hit int) {
	for i := range c.files {
		a, h := c.files[i].Count()
		all, hit = all+a, hit+h
	}
	return all, hit
}

func percent(hit, all int) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(hit)/float64(all))
}

// printCover prints a line for each hook, and for the functions of those whose source
// is known.
func (a *App) printCover(run *testRun) {
	if len(run.cover) == 0 {
		return
	}
	fmt.Fprintln(a.Out)
	table := newTable("COVERAGE", "REGIONS", "", "LINES", "", "FUNCTIONS").alignRight(1, 2, 3, 4, 5)
	for _, hookCover := range run.cover {
		ran := 0
		for _, f := range hookCover.profile.Funcs {
			if f.Hit > 0 {
				ran++
			}
		}
		all, hit := hookCover.lines()
		lines := ""
		if all > 0 {
			lines = fmt.Sprintf("%d/%d", hit, all)
		}
		table.row(safe(hookCover.name), percent(hookCover.profile.Hit, hookCover.profile.Regions),
			fmt.Sprintf("%d/%d", hookCover.profile.Hit, hookCover.profile.Regions),
			percent(hit, all), lines, fmt.Sprintf("%d/%d", ran, len(hookCover.profile.Funcs)))
		for _, f := range hookCover.files {
			all, hit := f.Count()
			table.row("  "+safe(f.rel), "", "", percent(hit, all), fmt.Sprintf("%d/%d", hit, all), missedLines(&f))
		}
	}
	table.print(a.Out, a.palette())
}

// missedLines names lines of which nothing ran, as ranges.
func missedLines(f *ownFile) string {
	var parts []string
	for i := 0; i < len(f.Lines); i++ {
		if f.Lines[i].Hit > 0 {
			continue
		}
		k := i
		for k+1 < len(f.Lines) && f.Lines[k+1].Hit == 0 {
			k++
		}
		part := fmt.Sprint(f.Lines[i].N)
		if k > i {
			part += fmt.Sprintf("-%d", f.Lines[k].N)
		}
		parts = append(parts, part)
		i = k
	}
	if len(parts) == 0 {
		return ""
	}
	if len(parts) > 8 {
		parts = append(parts[:8], "…")
	}
	return "not " + strings.Join(parts, " ")
}

type coverJSON struct {
	Hook      string      `json:"hook"`
	Digest    string      `json:"digest"`
	Regions   int         `json:"regions"`
	Hit       int         `json:"regions_hit"`
	Functions []coverFunc `json:"functions"`
	Files     []coverFile `json:"files,omitzero"` // the hook's own
}

type coverFunc struct {
	Index   uint32 `json:"index"`
	Name    string `json:"name,omitzero"`
	Regions int    `json:"regions"`
	Hit     int    `json:"regions_hit"`
}

type coverFile struct {
	File   string `json:"file"`
	Lines  int    `json:"lines"`
	Hit    int    `json:"lines_hit"`
	Missed []int  `json:"missed"` // lines of which nothing ran
}

func (c *hookCover) json() coverJSON {
	out := coverJSON{Hook: c.name, Digest: c.hook.Digest(), Regions: c.profile.Regions, Hit: c.profile.Hit,
		Functions: []coverFunc{}}
	for _, f := range c.profile.Funcs {
		out.Functions = append(out.Functions, coverFunc{Index: f.Index, Name: f.Name, Regions: f.Regions, Hit: f.Hit})
	}
	for i := range c.files {
		f := &c.files[i]
		all, hit := f.Count()
		cf := coverFile{File: f.rel, Lines: all, Hit: hit, Missed: []int{}}
		for _, l := range f.Lines {
			if l.Hit == 0 {
				cf.Missed = append(cf.Missed, l.N)
			}
		}
		out.Files = append(out.Files, cf)
	}
	return out
}

// coverProfile is the form that go tool cover and many editors read: one block a line.
func coverProfile(hooks []*hookCover) []byte {
	var b bytes.Buffer
	b.WriteString("mode: set\n")
	for _, c := range hooks {
		for _, f := range c.files {
			for _, l := range f.Lines {
				fmt.Fprintf(&b, "%s:%d.1,%d.1 1 %d\n", filepath.ToSlash(f.path), l.N, l.N+1, min(l.Hit, 1))
			}
		}
	}
	return b.Bytes()
}
