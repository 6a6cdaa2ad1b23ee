package cli

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/cover"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/page"
)

//go:embed cover.html
var coverParts string

// maxShownFuncs bounds the functions of one hook on the page: a runtime has thousands.
const maxShownFuncs = 200

type pageHook struct {
	ID, Name, Regions, Lines string
	Hit, All                 int
	Funcs                    []pageFunc
	More                     int // functions that are not shown
	Files                    []pageFile
}

type pageFunc struct {
	Name     string
	Hit, All int
	Percent  int64
}

type pageFile struct {
	Name, Lines string
	Rows        []pageRow
}

type pageRow struct {
	N           int
	Class, Text string
	Mark        string // the same as Class, for readers who see no colours
}

// coverPage is what ran as one page: functions as bars, and the hook's own source with each line marked. The
// same coverage gives the same bytes.
func coverPage(hooks []*hookCover) ([]byte, error) {
	var data struct{ Hooks []pageHook }
	for i, c := range hooks {
		hook := c.page()
		hook.ID = fmt.Sprintf("hook-%d", i+1)
		data.Hooks = append(data.Hooks, hook)
	}
	return page.Render(coverParts, nil, data)
}

func (c *hookCover) page() pageHook {
	all, hit := c.lines()
	hook := pageHook{Name: safe(c.name), Regions: percent(c.profile.Hit, c.profile.Regions), Hit: c.profile.Hit,
		All: c.profile.Regions, Lines: percent(hit, all)}
	funcs := slices.Clone(c.profile.Funcs)
	// Functions that ran in part come first: there is something to be done.
	slices.SortStableFunc(funcs, func(a, b cover.Func) int { return cmp.Compare(rank(a), rank(b)) })
	if len(funcs) > maxShownFuncs {
		hook.More = len(funcs) - maxShownFuncs
		funcs = funcs[:maxShownFuncs]
	}
	for _, f := range funcs {
		name := f.Name
		if name == "" {
			name = fmt.Sprintf("function %d", f.Index)
		}
		hook.Funcs = append(hook.Funcs,
			pageFunc{Name: oneLine(name, 100), Hit: f.Hit, All: f.Regions, Percent: int64(100 * f.Hit / f.Regions)})
	}
	for i := range c.files {
		hook.Files = append(hook.Files, c.files[i].page())
	}
	return hook
}

func rank(f cover.Func) int {
	switch f.Hit {
	case 0:
		return 2
	case f.Regions:
		return 1
	}
	return 0
}

// maxSource is the most that is shown of a source file, in bytes.
const maxSource = 16 << 20

func (f *ownFile) page() pageFile {
	all, hit := f.Count()
	out := pageFile{Name: safe(f.rel), Lines: percent(hit, all)}
	src, err := files.Read(f.path, maxSource)
	if err != nil {
		return out
	}
	by := map[int]cover.Line{}
	for _, l := range f.Lines {
		by[l.N] = l
	}
	for i, text := range strings.Split(strings.TrimSuffix(string(src), "\n"), "\n") {
		r := pageRow{N: i + 1, Text: safe(text)}
		if l, ok := by[i+1]; ok {
			switch l.Hit {
			case 0:
				r.Class, r.Mark = "no", "−"
			case l.Regions:
				r.Class, r.Mark = "yes", "+"
			default:
				r.Class, r.Mark = "part", "~"
			}
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}
