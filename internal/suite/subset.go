package suite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// subset reports whether everything of want is in got: the members of objects, and
// lists entry by entry.
func subset(want, got jsontext.Value) bool { return len(missing(want, got, "")) == 0 }

// miss is one place at which got differs from want.
type miss struct{ path, want, got string }

// missing lists the parts of want that are not in got, by pointer.
func missing(want, got jsontext.Value, at string) []miss {
	no := []miss{{at, string(want), orNothing(got)}}
	if len(got) == 0 || !got.IsValid() || want.Kind() != got.Kind() {
		return no
	}
	switch want.Kind() {
	case '{':
		var w, g map[string]jsontext.Value
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil {
			return no
		}
		var out []miss
		for _, name := range sortedKeys(w) {
			out = append(out, missing(w[name], g[name], at+"/"+pointerEscape.Replace(name))...)
		}
		return out
	case '[':
		var w, g []jsontext.Value
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil || len(w) != len(g) {
			return no
		}
		var out []miss
		for i := range w {
			out = append(out, missing(w[i], g[i], at+"/"+strconv.Itoa(i))...)
		}
		return out
	}
	if phases.Same(want, got) {
		return nil
	}
	return no
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func orNothing(v jsontext.Value) string {
	if len(v) == 0 {
		return "nothing"
	}
	return string(v)
}

// Difference is one thing that is not as wanted.
type Difference struct {
	What string `json:"what"` // a member of want, or stubs, golden
	Want string `json:"want"`
	Got  string `json:"got"`
	Line int    `json:"line,omitzero"` // in the suite, where one line is to blame
}

// String is the difference as a sentence.
func (d Difference) String() string { return fmt.Sprintf("%s: want %s, got %s", d.What, d.Want, d.Got) }
