package meter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// The WebAssembly specification's tests, as the engine's module carries them, are run
// three times: as written, and metered on both engines. All three must agree in results
// and traps, and the metered ones in fuel.

// integrationDir is read from the module cache; nothing of it is copied.
var integrationDir = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	return filepath.Join(strings.TrimSpace(string(dir)), "internal", "integration_test"), err
})

type specCommand struct {
	Type     string     `json:"type"`
	Line     int        `json:"line"`
	Name     string     `json:"name"`
	Filename string     `json:"filename"`
	As       string     `json:"as"`
	Module   string     `json:"module_type"`
	Action   specAction `json:"action"`
	Expected []specVal  `json:"expected"`
	Text     string     `json:"text"`
}

type specAction struct {
	Type   string    `json:"type"`
	Module string    `json:"module"`
	Field  string    `json:"field"`
	Args   []specVal `json:"args"`
}

type specVal struct {
	Type  string `json:"type"`
	Lane  string `json:"lane_type"`
	Value any    `json:"value"`
}

// words is the value as the engine takes it: one word, two for v128.
func (v specVal) words() []uint64 {
	if v.Type != "v128" {
		return []uint64{scalar(v.Type, v.Value)}
	}
	width, _ := strconv.Atoi(v.Lane[1:])
	var w [2]uint64
	for i, l := range v.Value.([]any) {
		at := i * width
		w[at/64] |= scalar(v.Lane, l) << (at % 64)
	}
	return w[:]
}

func scalar(typ string, v any) uint64 {
	s, _ := v.(string)
	switch {
	case v == nil || s == "null":
		return 0
	case strings.HasPrefix(s, "nan:") && strings.HasSuffix(typ, "32"):
		return canonicalF32
	case strings.HasPrefix(s, "nan:"):
		return canonicalF64
	}
	bits := 64
	if n, err := strconv.Atoi(strings.TrimLeft(typ, "if")); err == nil {
		bits = n
	}
	if strings.HasPrefix(s, "-") {
		n, _ := strconv.ParseInt(s, 10, 64)
		return uint64(n) & (math.MaxUint64 >> (64 - bits))
	}
	n, _ := strconv.ParseUint(s, 10, 64)
	if typ == "externref" {
		n++ // zero is the null reference
	}
	return n
}

// specCounts are over all files.
type specCounts struct {
	modules, notApplicable, results, traps, exhaustions, refused, nans atomic.Int64
}

// specOptions leave the guest all the room that the language gives.
var specOptions = Options{MemoryPages: 65_536, TableElems: 1 << 24}

// specWorld is one file's state in the three runs.
type specWorld struct {
	t       testing.TB
	n       *specCounts
	plain   wazero.Runtime
	metered [2]*runtime
	current *specModule
	named   map[string]*specModule
}

type specModule struct {
	plain   api.Module
	metered [2]*instance
}

func newSpecWorld(t testing.TB, n *specCounts) *specWorld {
	w := &specWorld{t: t, n: n, named: map[string]*specModule{}}
	w.plain = wazero.NewRuntimeWithConfig(ctx, compiler.config())
	t.Cleanup(func() { _ = w.plain.Close(ctx) })
	rts := []wazero.Runtime{w.plain}
	for i, e := range engines {
		w.metered[i] = newRuntime(t, e)
		rts = append(rts, w.metered[i].Runtime)
	}
	prints := map[string][]api.ValueType{
		"print": nil, "print_i32": {api.ValueTypeI32}, "print_i64": {api.ValueTypeI64},
		"print_f32": {api.ValueTypeF32}, "print_f64": {api.ValueTypeF64},
		"print_i32_f32": {api.ValueTypeI32, api.ValueTypeF32}, "print_f64_f64": {api.ValueTypeF64, api.ValueTypeF64},
	}
	for _, r := range rts {
		b := r.NewHostModuleBuilder("spectest")
		for name, params := range prints {
			b = b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), params, nil).Export(name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// load makes all three instances; nil when the module is one that belay refuses or that
// needs another module.
func (w *specWorld) load(file []byte) (m *specModule, plainErr error, meteredErr [2]error, ok bool) {
	model, err := wasm.Parse(file, wasm.RelaxedLimits())
	if err != nil {
		return nil, nil, meteredErr, false
	}
	for _, im := range model.Imports {
		if im.Module != "spectest" {
			return nil, nil, meteredErr, false
		}
	}
	out, err := Instrument(model, specOptions)
	if err != nil {
		w.t.Errorf("the pass refuses: %v", err)
		return nil, nil, meteredErr, false
	}
	m = &specModule{}
	m.plain, plainErr = w.plain.InstantiateWithConfig(ctx, file, wazero.NewModuleConfig().WithName(""))
	for i, r := range w.metered {
		if m.metered[i], meteredErr[i] = r.instantiate(&out); meteredErr[i] != nil {
			continue
		}
		if out.Start {
			if got, _ := m.metered[i].invoke(ExportStart, specBudget()); got.fault != "" {
				meteredErr[i] = errors.New(got.fault)
			}
		}
	}
	return m, plainErr, meteredErr, true
}

func specBudget() Account { return Account{Limit: 1 << 40, Slice: 1 << 12} }

func (w *specWorld) do(dir string, c *specCommand) {
	switch c.Type {
	case "module":
		file, err := os.ReadFile(filepath.Join(dir, c.Filename))
		if err != nil {
			w.t.Fatal(err)
		}
		m, perr, merr, ok := w.load(file)
		if !ok {
			w.current = nil
			w.n.notApplicable.Add(1)
		} else {
			w.n.modules.Add(1)
			if perr != nil || merr[0] != nil || merr[1] != nil {
				w.t.Errorf("line %d: plain %v, metered %v", c.Line, perr, merr)
				m = nil
			}
			w.current = m
		}
		if c.Name != "" {
			w.named[c.Name] = w.current
		}
	case "assert_return", "assert_trap", "assert_exhaustion", "action":
		m := w.current
		if c.Action.Module != "" {
			m = w.named[c.Action.Module]
		}
		if m == nil {
			w.n.notApplicable.Add(1)
		} else if c.Action.Type == "get" {
			w.get(m, c)
		} else {
			w.call(m, c)
		}
	case "assert_uninstantiable":
		w.uninstantiable(dir, c)
	case "assert_invalid", "assert_malformed":
		if c.Module == "binary" || strings.HasSuffix(c.Filename, ".wasm") {
			w.invalid(dir, c)
		}
	}
}

// get compares a global; the metered module has mutable number globals only.
func (w *specWorld) get(m *specModule, c *specCommand) {
	for _, g := range m.metered[0].out.Globals {
		for _, name := range g.Names {
			if name != c.Action.Field {
				continue
			}
			w.n.results.Add(1)
			want := m.plain.ExportedGlobal(name).Get()
			for _, i := range m.metered {
				if got := i.mod.ExportedGlobal(g.Export).Get(); got != want {
					w.t.Errorf("line %d: global is %#x, want %#x", c.Line, got, want)
				}
			}
			return
		}
	}
	w.n.notApplicable.Add(1)
}

func (w *specWorld) call(m *specModule, c *specCommand) {
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.words()...)
	}
	f := m.plain.ExportedFunction(c.Action.Field)
	types := f.Definition().ResultTypes()
	plain, err := f.Call(ctx, args...)
	normal(types, plain)
	var got [2]outcome
	var words [2][]uint64
	for i, in := range m.metered {
		got[i], words[i] = in.invoke(c.Action.Field, specBudget(), args...)
	}
	where := fmt.Sprintf("line %d: %s(%x)", c.Line, c.Action.Field, args)
	switch {
	case got[0] != got[1]:
		w.t.Errorf("%s: compiler %+v, interpreter %+v", where, got[0], got[1])
	case c.Type == "assert_exhaustion":
		w.n.exhaustions.Add(1)
		if err == nil || got[0].fault != "stack" {
			w.t.Errorf("%s: plain %v, metered %+v, want a stack fault", where, err, got[0])
		}
	case got[0].fault != fault(err):
		w.t.Errorf("%s: plain %v, metered %+v", where, err, got[0])
	case err != nil:
		// Some files expect a result that another module, one that belay refuses, would
		// have prepared. The three runs still have to agree.
		w.n.traps.Add(1)
	default:
		w.n.results.Add(1)
		if why := w.same(types, plain, words[0], c.Expected); why != "" {
			w.t.Errorf("%s: %s: plain %x, metered %x", where, why, plain, words[0])
		}
	}
}

// same compares results. Where bits differ, the plain value is some NaN and the metered
// one the canonical NaN.
func (w *specWorld) same(types []api.ValueType, plain, metered []uint64, exp []specVal) string {
	k := 0
	for i, t := range types {
		p, g := plain[k:], metered[k:]
		k++
		switch t {
		case api.ValueTypeF32:
			if !w.nan32(p[0], g[0]) {
				return "f32"
			}
		case api.ValueTypeF64:
			if !w.nan64(p[0], g[0]) {
				return "f64"
			}
		case 0x7b: // v128
			k++
			lane := ""
			if i < len(exp) {
				lane = exp[i].Lane
			}
			for h := range 2 {
				ok := p[h] == g[h]
				switch lane {
				case "f32":
					ok = w.nan32(p[h]&math.MaxUint32, g[h]&math.MaxUint32) && w.nan32(p[h]>>32, g[h]>>32)
				case "f64":
					ok = w.nan64(p[h], g[h])
				}
				if !ok {
					return "v128 of " + lane
				}
			}
		default:
			if p[0] != g[0] {
				return fmt.Sprintf("type %#x", t)
			}
		}
	}
	return ""
}

func (w *specWorld) nan32(plain, metered uint64) bool {
	p, g := uint32(plain), uint32(metered)
	if p != g {
		w.n.nans.Add(1)
		f := math.Float32frombits(p)
		return f != f && g == canonicalF32
	}
	return true
}

func (w *specWorld) nan64(plain, metered uint64) bool {
	if plain != metered {
		w.n.nans.Add(1)
		f := math.Float64frombits(plain)
		return f != f && metered == canonicalF64
	}
	return true
}

// uninstantiable: the engines must agree with the plain run, start function included.
func (w *specWorld) uninstantiable(dir string, c *specCommand) {
	file, err := os.ReadFile(filepath.Join(dir, c.Filename))
	if err != nil {
		w.t.Fatal(err)
	}
	_, perr, merr, ok := w.load(file)
	if !ok {
		w.n.notApplicable.Add(1)
		return
	}
	w.n.traps.Add(1)
	for _, e := range merr {
		if (perr == nil) != (e == nil) {
			w.t.Errorf("line %d: plain %v, metered %v", c.Line, perr, merr)
		}
	}
}

// invalid: nothing that the engine refuses as written may pass parser and pass and then
// be accepted.
func (w *specWorld) invalid(dir string, c *specCommand) {
	file, err := os.ReadFile(filepath.Join(dir, c.Filename))
	if err != nil {
		return // some of these exist as text only
	}
	w.n.refused.Add(1)
	if m, err := wasm.Parse(file, wasm.RelaxedLimits()); err == nil {
		if out, err := Instrument(m, specOptions); err == nil {
			// The first version's tests refuse what the second allows.
			_, written := w.metered[1].compile(file)
			if _, err := w.metered[1].compile(out.Wasm); err == nil && written != nil {
				w.t.Errorf("line %d: %s (%s) is accepted", c.Line, c.Filename, c.Text)
			}
		}
	}
}

func TestSpecification(t *testing.T) {
	root, err := integrationDir()
	if err != nil {
		t.Fatal(err)
	}
	// The second version's tests contain most of the first's.
	versions, want := []string{"v2", "v1"}, int64(60_000)
	if testing.Short() {
		versions, want = versions[:1], 44_000
	}
	var n specCounts
	files := 0
	t.Run("files", func(t *testing.T) {
		for _, v := range versions {
			dir := filepath.Join(root, "spectest", v, "testdata")
			lists, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range lists {
				files++
				t.Run(v+"/"+strings.TrimSuffix(filepath.Base(list), ".json"), func(t *testing.T) {
					t.Parallel()
					raw, err := os.ReadFile(list)
					if err != nil {
						t.Fatal(err)
					}
					var f struct {
						Commands []specCommand `json:"commands"`
					}
					if err := json.Unmarshal(raw, &f); err != nil {
						t.Fatal(err)
					}
					w := newSpecWorld(t, &n)
					for i := range f.Commands {
						w.do(dir, &f.Commands[i])
					}
				})
			}
		}
	})
	t.Logf("%d files, %d modules: %d results (%d values with a NaN made canonical), %d traps, %d exhaustions, %d invalid modules; %d not applicable",
		files, n.modules.Load(), n.results.Load(), n.nans.Load(), n.traps.Load(), n.exhaustions.Load(), n.refused.Load(),
		n.notApplicable.Load())
	// The test must not become empty because files moved or modules are refused.
	if n.results.Load() < want || n.traps.Load() < 1400 || n.exhaustions.Load() < 15 || n.refused.Load() < 2800 ||
		n.nans.Load() < 300 {
		t.Error("fewer assertions than there must be")
	}
}
