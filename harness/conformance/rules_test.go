package conformance_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/harness/conformance"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the guests anew")

func rules(t testing.TB) []conformance.Rule {
	t.Helper()
	rs, err := conformance.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func belayHost(t testing.TB) *conformance.BelayHost {
	t.Helper()
	h, err := conformance.OpenBelayHost(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// belay's own host keeps every rule.
func TestBelayHost(t *testing.T) { conformance.Run(t, belayHost(t)) }

const num = `  (func $say (param i32 i32) (drop (call $log (i32.const 1) (local.get 0) (local.get 1))))
  (func $num (param $v i32) (local $at i32) (local $minus i32)
    (local.set $at (i32.const 61440))
    (if (i32.lt_s (local.get $v) (i32.const 0)) (then (local.set $minus (i32.const 1)) (local.set $v (i32.sub (i32.const 0) (local.get $v)))))
    (loop $digit
      (i32.store8 (local.tee $at (i32.sub (local.get $at) (i32.const 1))) (i32.add (i32.const 48) (i32.rem_u (local.get $v) (i32.const 10))))
      (br_if $digit (local.tee $v (i32.div_u (local.get $v) (i32.const 10)))))
    (if (local.get $minus) (then (i32.store8 (local.tee $at (i32.sub (local.get $at) (i32.const 1))) (i32.const 45))))
    (call $say (local.get $at) (i32.sub (i32.const 61440) (local.get $at))))
`

// reply logs the contents of the reply buffer.
const reply = `  (func $reply (call $say (i32.const 32768) (call $reply_read (i32.const 32768) (i32.const 20480))))
`

// literal is a text in single quotes: its place and its length.
var literal = regexp.MustCompile(`'[^'\n]*'`)

// watOf is the text of a rule's guest.
func watOf(t testing.TB, r *conformance.Rule) string {
	t.Helper()
	if r.WAT != "" {
		return ";; " + r.Rule + "\n" + r.WAT
	}
	var b strings.Builder
	fmt.Fprintf(&b, ";; %s\n(module\n", r.Rule)
	imports := r.Imports
	if !slices.Contains(imports, "log") {
		imports = append([]string{"log"}, imports...)
	}
	for _, name := range imports {
		c, ok := hostcalls.Lookup(name)
		if !ok {
			t.Fatalf("%s: no call %q", r.ID, name)
		}
		params, result := "", "i32"
		if n := c.Arity(); n > 0 {
			params = " (param" + strings.Repeat(" i32", n) + ")"
		}
		if c.Result == hostcalls.ResultI64 {
			result = "i64"
		}
		fmt.Fprintf(&b, "  (import \"belay_v1\" %q (func $%s%s (result %s)))\n", name, name, params, result)
	}
	if r.Stubs != "" {
		b.WriteString("  " + strings.ReplaceAll(strings.TrimSpace(r.Stubs), "\n", "\n  ") + "\n")
	}
	pages := max(r.Pages, 1)
	fmt.Fprintf(&b, "  (memory (export \"memory\") %d %d)\n", pages, pages+1)
	data := map[int]string{}
	next := 16384
	place := func(code string) string {
		return literal.ReplaceAllStringFunc(code, func(s string) string {
			s = s[1 : len(s)-1]
			at := next
			data[at] = s
			next += len(s)
			return fmt.Sprintf("(i32.const %d) (i32.const %d)", at, len(s))
		})
	}
	more, code := place(r.More), place(r.Code)
	for at, s := range r.Data {
		data[offset(t, at)] = s
	}
	for at, s := range r.Bytes {
		raw, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		data[offset(t, at)] = string(raw)
	}
	var at []int
	for k := range data {
		at = append(at, k)
	}
	slices.Sort(at)
	for _, k := range at {
		fmt.Fprintf(&b, "  (data (i32.const %d) \"", k)
		for _, c := range []byte(data[k]) {
			if c < ' ' || c > '~' || c == '"' || c == '\\' {
				fmt.Fprintf(&b, "\\%02x", c)
			} else {
				b.WriteByte(c)
			}
		}
		b.WriteString("\")\n")
	}
	b.WriteString(num)
	if slices.Contains(imports, "reply_read") {
		b.WriteString(reply)
	}
	if more != "" {
		b.WriteString("  " + strings.TrimSpace(more) + "\n")
	}
	fmt.Fprintf(&b, "  (func (export %q) (result i32) (local $n i32) (local $m i32)\n    %s))\n",
		cmp.Or(r.Phase, phases.PreTool), strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n    "))
	return b.String()
}

func offset(t testing.TB, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// moduleOf makes the module of a rule.
func moduleOf(t testing.TB, r *conformance.Rule, wat, dir string) []byte {
	t.Helper()
	if r.Hex != "" {
		wasm, err := hex.DecodeString(strings.ReplaceAll(r.Hex, " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", r.ID, err)
		}
		return wasm
	}
	file, out := filepath.Join(dir, r.ID+".wat"), filepath.Join(dir, r.ID+".wasm")
	if err := os.WriteFile(file, []byte(wat), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-o", out, file}
	for _, f := range r.Features {
		args = append(args, "--enable-"+f)
	}
	if b, err := exec.Command("wat2wasm", args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", r.ID, err, b)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Manifest) > 0 {
		section := append([]byte{byte(len("belay.manifest"))}, "belay.manifest"...)
		section = append(section, r.Manifest...)
		wasm = append(binary.AppendUvarint(append(wasm, 0), uint64(len(section))), section...)
	}
	return wasm
}

// Every rule has its guest, made from the rule.
func TestGuestsAreCurrent(t *testing.T) {
	seen := map[string]bool{}
	files := map[string]bool{"README.md": true}
	tmp := t.TempDir()
	for i, r := range rules(t) {
		ways := 0
		for _, s := range []string{r.Code, r.WAT, r.Hex} {
			if s != "" {
				ways++
			}
		}
		if r.ID == "" || r.Rule == "" || seen[r.ID] || ways != 1 {
			t.Errorf("rule %d %q: an id of its own, words, and one way to make the guest", i+1, r.ID)
		}
		seen[r.ID] = true
		content := map[string][]byte{}
		wat := ""
		if r.Hex == "" {
			wat = watOf(t, &r)
			content[r.ID+".wat"] = []byte(wat)
		}
		content[r.ID+".wasm"] = moduleOf(t, &r, wat, tmp)
		for name, want := range content {
			files[name] = true
			path := filepath.Join("guests", name)
			if *update {
				if err := os.WriteFile(path, want, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not what its rule says (%v); go test ./harness/conformance -update", path, err)
			}
		}
	}
	there, err := os.ReadDir("guests")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if files[f.Name()] {
			continue
		}
		t.Errorf("guests/%s belongs to no rule", f.Name())
		if *update {
			if err := os.Remove(filepath.Join("guests", f.Name())); err != nil {
				t.Error(err)
			}
		}
	}
}
