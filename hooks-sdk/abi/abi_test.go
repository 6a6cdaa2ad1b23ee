package abi_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/hooks-sdk/abi"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false,
	"write abi.json anew from the host's table; look at the difference before committing it")

type document struct {
	ABI       int            `json:"abi"`
	Module    string         `json:"module"`
	Phases    []phases.Phase `json:"phases"`
	Errnos    []number       `json:"errnos"`
	Kinds     []number       `json:"kinds"`
	Rewrites  []number       `json:"rewrite_kinds"`
	Levels    []number       `json:"log_levels"`
	Limits    limits         `json:"limits"`
	Functions []function     `json:"functions"`
}

type number struct {
	Code    int    `json:"code"`
	Name    string `json:"name"`
	Meaning string `json:"meaning,omitzero"`
}

// limits are bytes, or counts where the name says what is counted.
type limits struct {
	Input       int `json:"input"`
	Reply       int `json:"reply"`
	Path        int `json:"path"`
	Effect      int `json:"effect"`
	EffectBytes int `json:"effects_together"`
	Effects     int `json:"effects_count"`
	Calls       int `json:"gated_calls_count"`
	Reason      int `json:"block_reason"`
	Fail        int `json:"fail_text"`
	LogText     int `json:"log_line"`
	Logs        int `json:"log_lines_count"`
	Context     int `json:"context"`
	Label       int `json:"label"`
	Random      int `json:"random"`
	Shell       int `json:"shell_text"`
	Request     int `json:"analysis_request"`
	Scan        int `json:"scanned_text"`
	StateKey    int `json:"state_key"`
	StateVal    int `json:"state_value"`
	StateKeys   int `json:"state_keys_count"`
	State       int `json:"state_together"`
}

type function struct {
	Name       string         `json:"name"`
	Group      string         `json:"group"`
	Capability string         `json:"capability,omitzero"` // absent: every hook may call it
	LeastTier  phases.Tier    `json:"least_tier"`
	Phases     []phases.Phase `json:"phases,omitzero"` // absent: all
	Params     []string       `json:"params"`          // core types
	Results    []string       `json:"results"`
	Args       []argument     `json:"args"` // how the parameters go together
	Reply      bool           `json:"reply,omitzero"`
	Counted    bool           `json:"counted,omitzero"` // against limits.gated_calls_count
	Init       bool           `json:"init,omitzero"`    // works during start and _initialize
	Doc        string         `json:"doc"`
}

// argument: in and out are pointer and length or capacity; fill is a range that
// is filled whole; i32 is a number.
type argument struct {
	Pass string `json:"pass"`
	Max  int    `json:"max,omitzero"`  // bytes
	Cuts bool   `json:"cuts,omitzero"` // a longer one is cut; otherwise the call is refused
}

// fromHost describes the host of this repository.
func fromHost() document {
	l := hostcalls.DefaultLimits()
	d := document{
		ABI: 1, Module: hostcalls.Module, Phases: phases.Phases(),
		Errnos: []number{
			{int(hostcalls.Absent), "absent", "there is no such value"},
			{int(hostcalls.Denied), "denied", "not granted by the operator, or not legal in this phase or pass"},
			{int(hostcalls.Invalid), "invalid", "a malformed argument, or an effect that does not fit the action"},
			{int(hostcalls.Budget), "budget", "a quota of this turn is spent"},
			{int(hostcalls.TooLarge), "too_large", "beyond a size limit"},
			{int(hostcalls.Pending), "pending", "waits for a person"},
			{int(hostcalls.Unavailable), "unavailable", "this host does not offer it here"},
		},
		Kinds: []number{{0, "null", ""}, {1, "bool", ""}, {2, "number", ""}, {3, "string", ""}, {4, "array", ""},
			{5, "object", ""}},
		Rewrites: []number{{0, "json", "the value is JSON"}, {1, "text", "the value is text and becomes a string"},
			{2, "remove", "the value is empty"}},
		Levels: []number{{0, "debug", ""}, {1, "info", ""}, {2, "warn", ""}, {3, "error", ""}},
		Limits: limits{
			Input: l.Input, Reply: l.Reply, Path: hostcalls.MaxPath, Effect: hostcalls.MaxEffect, EffectBytes: l.EffectBytes,
			Effects: l.Effects, Calls: l.Calls, Reason: hostcalls.MaxReason, Fail: hostcalls.MaxFail,
			LogText: hostcalls.MaxLogText, Logs: l.Logs, Context: hostcalls.MaxContext, Label: hostcalls.MaxLabel,
			Random: hostcalls.MaxRandom, Shell: hostcalls.MaxShell, Request: hostcalls.MaxRequest, Scan: hostcalls.MaxScan,
			StateKey: hostcalls.MaxStateKey, StateVal: hostcalls.MaxStateVal, StateKeys: hostcalls.MaxStateKeys,
			State: hostcalls.MaxState,
		},
	}
	for _, c := range hostcalls.Table() {
		d.Functions = append(d.Functions, describe(c))
	}
	return d
}

func describe(c hostcalls.Call) function {
	f := function{
		Name: c.Name, Group: string(c.Group), Capability: c.Capability, LeastTier: c.LeastTier, Phases: c.Phases,
		Params: []string{}, Results: []string{"i32"}, Args: []argument{}, Reply: c.Replies, Counted: c.Counted,
		Init: c.InInit, Doc: c.Doc,
	}
	if c.Result == hostcalls.ResultI64 {
		f.Results[0] = "i64"
	}
	ins := 0
	for _, p := range c.Params {
		a := argument{Pass: map[hostcalls.Param]string{
			hostcalls.ParamI32: "i32", hostcalls.ParamIn: "in", hostcalls.ParamOut: "out", hostcalls.ParamFill: "fill",
		}[p]}
		f.Params = append(f.Params, "i32")
		if p != hostcalls.ParamI32 {
			f.Params = append(f.Params, "i32")
		}
		if p == hostcalls.ParamIn {
			a.Max, a.Cuts = c.MaxIn[ins], c.Cuts
			ins++
		}
		f.Args = append(f.Args, a)
	}
	return f
}

func TestVectors(t *testing.T) {
	want, err := json.Marshal(fromHost(), json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("abi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := abi.Vectors(); !bytes.Equal(got, want) {
		t.Errorf("the host is not what abi.json says (-abi.json +host):\n%s", cmp.Diff(string(got), string(want)))
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func vectors(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(abi.Vectors(), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if len(d.Functions) < 30 {
		t.Fatalf("only %d functions", len(d.Functions))
	}
	return d
}

// Each SDK declares exactly the functions of the ABI, each with its signature.
func TestSDKsDeclareTheABI(t *testing.T) {
	d := vectors(t)
	for _, sdk := range []struct {
		name, file string
		line       *regexp.Regexp // name of the import, name of the declaration, parameters, result
		i32, i64   map[string]int // core values of a parameter or result
	}{
		{
			"c", read(t, "..", "c", "belay.h"),
			regexp.MustCompile(`(?m)^BELAY_IMPORT\((\w+)\) (\w+) belay_v1_(\w+)\(([^)]*)\);`),
			map[string]int{"int32_t": 1, "uint32_t": 1, "const char *": 1, "void *": 1, "const void *": 1},
			map[string]int{"int64_t": 1},
		},
		{
			"rust", read(t, "..", "rust", "src", "raw.rs"),
			regexp.MustCompile(`(?m)^    pub fn (\w+)()()\(([^)]*)\) -> (\w+);`),
			map[string]int{"i32": 1, "u32": 1, "*const u8": 1, "*mut u8": 1}, map[string]int{"i64": 1},
		},
		{
			"go", read(t, "..", "go", "raw_guest.go"),
			regexp.MustCompile(`(?m)^//go:wasmimport belay_v1 (\w+)\n//go:noescape\nfunc (\w+)()\(([^)]*)\) (\w+)$`),
			map[string]int{"int32": 1, "uint32": 1, "unsafe.Pointer": 1}, map[string]int{"int64": 1},
		},
		{
			"assemblyscript", read(t, "..", "assemblyscript", "raw.ts"),
			regexp.MustCompile(`(?m)^@external\("belay_v1", "(\w+)"\)\nexport declare function (\w+)()\(([^)]*)\): (\w+);$`),
			map[string]int{"i32": 1, "u32": 1, "usize": 1}, map[string]int{"i64": 1},
		},
	} {
		t.Run(sdk.name, func(t *testing.T) {
			found := map[string]string{}
			for _, m := range sdk.line.FindAllStringSubmatch(sdk.file, -1) {
				name, result := m[1], m[len(m)-1]
				params := m[len(m)-2]
				if sdk.name == "c" {
					result, params = m[2], m[4]
					if m[3] != name {
						t.Errorf("%s is imported as %s", m[3], name)
					}
				}
				n := 0
				for p := range strings.SplitSeq(params, ",") {
					p = strings.TrimSpace(p)
					if p == "" || p == "void" {
						continue
					}
					if !slices.ContainsFunc(slices.Sorted(keys(sdk.i32)), func(ty string) bool {
						return strings.HasPrefix(p, ty) || strings.HasSuffix(p, ty)
					}) {
						t.Errorf("%s has a parameter %q", name, p)
					}
					n++
				}
				found[name] = fmt.Sprintf("%d i32 -> i%d", n, map[bool]int{true: 64, false: 32}[sdk.i64[result] > 0])
				if sdk.i32[result]+sdk.i64[result] == 0 {
					t.Errorf("%s answers %q", name, result)
				}
			}
			want := map[string]string{}
			for _, f := range d.Functions {
				want[f.Name] = fmt.Sprintf("%d i32 -> %s", len(f.Params), f.Results[0])
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("(-abi.json +SDK):\n%s", diff)
			}
		})
	}
}

func keys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// The specification's tables have one row for each function, with its signature,
// and one for each error and limit.
func TestSpecification(t *testing.T) {
	d := vectors(t)
	spec := read(t, "README.md")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)\\([^`]*\\)` \\| `(\\([^`]*)` \\|").FindAllStringSubmatch(spec,
		-1) {
		rows[m[1]] = m[2]
	}
	want := map[string]string{}
	for _, f := range d.Functions {
		want[f.Name] = "(" + strings.Join(f.Params, " ") + ") → " + f.Results[0]
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows of functions (-abi.json +README.md):\n%s", diff)
	}
	for _, n := range d.Errnos {
		if !strings.Contains(spec, fmt.Sprintf("| %d | %s |", n.Code, n.Name)) {
			t.Errorf("no row for error %d, %s", n.Code, n.Name)
		}
	}
	for _, p := range d.Phases {
		if !strings.Contains(spec, "`"+string(p)+"`") {
			t.Errorf("the phase %s is not mentioned", p)
		}
	}
}
