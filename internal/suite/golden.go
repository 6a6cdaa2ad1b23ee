package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

// goldenFormat is the only version of the format.
const goldenFormat = "belay-golden/v1"

// golden is a file beside a suite with the whole verdict of each case, as far as it
// is the same every time. Fuel, memory, digests and ids are not in it: they change
// with every compiler.
type golden struct {
	Format string                    `json:"format"`
	Cases  map[string]jsontext.Value `json:"cases"`
}

// goldenVerdict is a verdict in a golden.
type goldenVerdict struct {
	Decision  phases.Decision   `json:"decision"`
	Kind      phases.Kind       `json:"kind,omitzero"`
	Reason    string            `json:"reason,omitzero"`
	Action    jsontext.Value    `json:"action,omitzero"`
	Changed   []string          `json:"changed"`
	Scopes    phases.Scopes     `json:"scopes"`
	Metadata  phases.Metadata   `json:"metadata"`
	Contexts  []string          `json:"contexts"`
	Reply     *phases.Reply     `json:"reply,omitzero"`
	Retry     *phases.Retry     `json:"retry,omitzero"`
	Artifacts []phases.Artifact `json:"artifacts,omitzero"`
	Grant     *phases.Grant     `json:"grant,omitzero"`
	Masked    []string          `json:"masked"`
	Effects   []phases.Effect   `json:"effects"` // of all turns
}

func goldenOf(v *phases.Verdict) (jsontext.Value, error) {
	g := goldenVerdict{
		Decision: v.Decision, Kind: v.Kind, Reason: v.Reason, Action: v.Action, Changed: v.Changed, Scopes: v.Scopes,
		Metadata: v.Metadata,
		Contexts: v.Contexts, Reply: v.Reply, Retry: v.Retry, Artifacts: v.Artifacts, Grant: v.Grant, Masked: v.Masked,
	}
	for i := range v.Hooks {
		g.Effects = append(g.Effects, v.Hooks[i].Effects...)
	}
	b, err := json.Marshal(g, json.Deterministic(true), json.FormatNilSliceAsNull(false))
	return b, err
}

// GoldenFile is where the golden of a suite lies.
func GoldenFile(suite string) string { return strings.TrimSuffix(suite, ".yaml") + ".golden.json" }

// readGolden reads the golden of a suite; nil when it has none.
func readGolden(path string) (*golden, error) {
	src, err := files.Read(path, maxGolden)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseGolden(path, src)
}

func parseGolden(path string, src []byte) (*golden, error) {
	g := new(golden)
	if err := json.Unmarshal(src, g, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, placed(src, err))
	}
	if g.Format != goldenFormat {
		return nil, fmt.Errorf("%s: it is of format %q; this belay knows %s; write it anew with --update", path,
			phases.SafeLine(g.Format, 40), goldenFormat)
	}
	return g, nil
}

// placed adds the line to an error of decoding.
func placed(src []byte, err error) error {
	var offset int64
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
	default:
		return err
	}
	line := 1 + strings.Count(string(src[:min(int(offset), len(src))]), "\n")
	return fmt.Errorf("line %d: %w", line, err)
}

// compare holds a verdict against the golden of its case.
func (g *golden) compare(r *Result) ([]Difference, error) {
	if g == nil || r.Sealed { // a golden is in plain text
		return nil, nil
	}
	got, err := goldenOf(&r.Verdict)
	if err != nil {
		return nil, err
	}
	want, ok := g.Cases[r.Case]
	if !ok {
		return []Difference{{What: "golden", Want: "this case in it", Got: "a golden from before the case was written"}}, nil
	}
	if phases.Same(want, got) {
		return nil, nil
	}
	var out []Difference
	for _, ptr := range phases.Diff(want, got) {
		w, _ := phases.Get(want, ptr)
		h, _ := phases.Get(got, ptr)
		out = append(out, Difference{What: "golden " + ptr, Want: orNothing(w), Got: orNothing(h)})
	}
	if len(out) == 0 { // never: they are not the same
		out = []Difference{{What: "golden", Want: string(want), Got: string(got)}}
	}
	return out, nil
}

// update takes the verdicts of results that passed. whole: they are all of the suite,
// so that cases that are not among them are gone.
func (g *golden) update(results []CaseResult, whole bool) (*golden, error) {
	out := &golden{Format: goldenFormat, Cases: map[string]jsontext.Value{}}
	if g != nil && !whole {
		for name, v := range g.Cases {
			out.Cases[name] = v
		}
	}
	for i := range results {
		if results[i].Sealed {
			continue // a golden is in plain text
		}
		v, err := goldenOf(&results[i].Verdict)
		if err != nil {
			return nil, err
		}
		out.Cases[results[i].Case] = v
	}
	return out, nil
}

// maxGolden is the largest golden that is read, in bytes.
const maxGolden = 64 << 20

// updateGolden writes the verdicts of results into the golden at path. It reads the file
// anew: another run may have written its cases meanwhile.
func updateGolden(path string, results []CaseResult, whole bool) error {
	return statedir.EditPublic(path, maxGolden, func(src []byte) ([]byte, error) {
		g, err := parseGolden(path, src)
		if src == nil || err != nil { // one that cannot be read is written anew
			g = nil
		}
		next, err := g.update(results, whole)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(next, json.Deterministic(true), jsontext.WithIndent("  "))
		return append(b, '\n'), err
	})
}

// leftovers are cases of the golden that the suite no longer has.
func (g *golden) leftovers(s *Suite) []string {
	if g == nil {
		return nil
	}
	var out []string
	for _, name := range sortedKeys(g.Cases) {
		if !slices.ContainsFunc(s.Cases, func(c Case) bool { return c.Name == name }) {
			out = append(out, name)
		}
	}
	return out
}
