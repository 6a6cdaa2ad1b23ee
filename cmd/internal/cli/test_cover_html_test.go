package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/cover"
	"github.com/belay-hooks/belay/internal/page/pagetest"
)

// The page of a coverage shows sources and names as text, and says with a sign what it says with a colour.
func TestCoverPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hook.rs")
	if err := os.WriteFile(path, []byte("one\n"+pagetest.Hostile+"\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := cover.File{Name: path, Lines: []cover.Line{{N: 1, Regions: 1, Hit: 1}, {N: 2, Regions: 2, Hit: 1},
		{N: 3, Regions: 1}}}
	hook := &hookCover{name: "a <hook>", profile: &cover.Profile{Regions: 4, Hit: 2,
		Funcs: []cover.Func{{Name: pagetest.Hostile, Regions: 4, Hit: 2}}},
		files: []ownFile{{File: file, path: path, rel: "src/<hook>.rs"}}}
	b, err := coverPage([]*hookCover{hook, {name: "other", profile: &cover.Profile{}}})
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, b)
	for _, want := range []string{`<span class="yes"><b>1</b><i>&#43;</i>one</span>`,
		`<span class="part"><b>2</b><i>~</i>`,
		`<span class="no"><b>3</b><i>−</i>three</span>`, `<a href="#hook-1">a &lt;hook&gt;</a>`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page holds no %s", want)
		}
	}
}
