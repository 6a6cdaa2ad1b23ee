package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// guard is command-guard with a manifest of a test.
func guard(t *testing.T, name, version, capabilities, more string) []byte {
	t.Helper()
	module := readFile(t, filepath.Join("..", "..", "examples-wasm", "command-guard", "command-guard.wasm"))
	out, err := hookbuild.Pack(module, []byte(`{"abi":1,"name":"`+name+`","version":"`+version+`","phases":["pre_tool"],
"capabilities":[{"name":"block"},{"name":"request_approval"},{"name":"shell_parse"},{"name":"pattern_match"}`+
		capabilities+`]`+more+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const fourCapabilities = "block,request_approval,shell_parse,pattern_match"

// bound is a state directory in which version 1.0.0 of a guard is bound with a configuration.
func bound(t *testing.T, r install.Request) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, config.FileName), "version: belay/v1\nhooks:\n  - {name: first, module: builtin:strip-ansi, capabilities: [\"rewrite:/result\"]}\n")
	r.Name = "guard"
	if r.File == nil {
		r.File = guard(t, "test/guard", "1.0.0", "", "")
	}
	if _, _, err := install.Hook(t.Context(), state(dir), r); err != nil {
		t.Fatal(err)
	}
	return dir
}

func planned(t *testing.T, dir string, r install.UpgradeRequest) (*install.Upgrade, error) {
	t.Helper()
	r.Name = "guard"
	return install.PlanUpgrade(t.Context(), state(dir), r)
}

// An upgrade that cannot run in the place of the binding, or guards less, is refused, and belay.yaml stays as it is.
func TestUpgradeRefused(t *testing.T) {
	const object = `,"config_schema":{"type":"object"}`
	signed := func(t *testing.T) string {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, config.FileName), config.Empty)
		writePolicy(t, dir, "")
		_, _, err := install.Hook(t.Context(), state(dir), install.Request{Name: "guard",
			File: readFile(t, signedFixture("guard.wasm")), Evidence: []tiers.Evidence{{Kind: tiers.EvidenceBundle, Name: "a",
				Data: readFile(t, signedFixture("guard.c0.sigstore.json"))}}})
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	plain := func(t *testing.T) string {
		return bound(t, install.Request{Allow: strings.Split(fourCapabilities, ","), Config: []byte(`{"commands":["rm"]}`),
			File: guard(t, "test/guard", "1.0.0", "", object)})
	}
	for name, c := range map[string]struct {
		dir  func(*testing.T) string
		file []byte
		want string
		also []install.Weakening // accepts it
	}{
		"no module": {plain, []byte("x"), "not a WebAssembly binary", nil},
		"other hook": {plain, guard(t, "test/other", "1.0.0", "", object), "another hook",
			[]install.Weakening{install.OtherHook}},
		"older": {plain, guard(t, "test/guard", "0.9.9", "", object), "older", []install.Weakening{install.Older}},
		"another schema": {plain, guard(t, "test/guard", "1.1.0", "",
			`,"config_schema":{"type":"object","additionalProperties":false,"properties":{"x":{}}}`), "additional properties", nil},
		"less trust": {signed, guard(t, "acme/guard", "9.0.0", "", ""), "sandboxed",
			[]install.Weakening{install.LessTrust, install.OtherHook}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := c.dir(t)
			before := readFile(t, filepath.Join(dir, config.FileName))
			allow := strings.Split(fourCapabilities, ",")
			_, err := planned(t, dir, install.UpgradeRequest{File: c.file, Allow: allow})
			if !errors.Is(err, install.ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.also != nil {
				if _, err := planned(t, dir, install.UpgradeRequest{File: c.file, Allow: allow, Accept: c.also}); err != nil {
					t.Errorf("accepted, and %v", err)
				}
			}
			if string(readFile(t, filepath.Join(dir, config.FileName))) != string(before) {
				t.Error("belay.yaml was changed")
			}
		})
	}
	if _, err := install.PlanUpgrade(t.Context(), state(plain(t)),
		install.UpgradeRequest{Name: "nothing"}); !errors.Is(err, loader.ErrUnknownHook) {
		t.Errorf("an unknown binding: %v", err)
	}
}

// What a new version imports beside the capabilities of the binding is granted by name only.
func TestUpgradeGrantsNothingSilently(t *testing.T) {
	dir := bound(t, install.Request{})
	src := readFile(t, filepath.Join(dir, config.FileName))
	less := strings.Replace(string(src), `, pattern_match`, "", 1)
	less = strings.Replace(less, `,"pattern_match"`, "", 1)
	if less == string(src) {
		t.Fatalf("the list is written otherwise:\n%s", src)
	}
	writeFile(t, filepath.Join(dir, config.FileName), less)
	next := guard(t, "test/guard", "1.1.0", "", "")
	if _, err := planned(t, dir, install.UpgradeRequest{File: next}); !errors.Is(err, install.ErrRefused) ||
		!strings.Contains(err.Error(), "pattern_match") {
		t.Fatalf("got %v", err)
	}
	u, err := planned(t, dir, install.UpgradeRequest{File: next, Allow: []string{"pattern_match"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(u.Capabilities.Added, "pattern_match") {
		t.Errorf("capabilities %+v", u.Capabilities)
	}
	if left, err := u.Apply(t.Context(), state(dir)); err != nil || len(left) > 0 {
		t.Error(err, left)
	}
	// Going back takes it away again.
	u, err = install.PlanRollback(t.Context(), state(dir), "guard", nil)
	if err == nil || !strings.Contains(err.Error(), "pattern_match") {
		t.Errorf("the version before does not run without it, and %v", err)
	}
	if u == nil || !slices.Contains(u.Capabilities.Removed, "pattern_match") {
		t.Errorf("rollback: %+v", u)
	}
}

// unquoted is a configuration without quotes, which an edit writes and a person may leave out.
func unquoted(src []byte) string { return strings.ReplaceAll(string(src), `"`, "") }

// An upgrade keeps the binding in its place, and goes back; a second rollback returns to the newer module.
func TestUpgradeAndRollback(t *testing.T) {
	dir := bound(t, install.Request{Priority: 7, Mode: phases.Observe})
	if _, err := install.PlanRollback(t.Context(), state(dir), "guard", nil); !errors.Is(err, install.ErrNoUpgrade) {
		t.Errorf("no upgrade yet: %v", err)
	}
	first := readFile(t, filepath.Join(dir, config.FileName))
	u, err := planned(t, dir, install.UpgradeRequest{File: guard(t, "test/guard", "1.1.0", "", "")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Apply(t.Context(), state(dir)); err != nil {
		t.Fatal(err)
	}
	second := readFile(t, filepath.Join(dir, config.FileName))
	if want := strings.Replace(string(first), u.From.Digest, u.To.Digest, 1); unquoted(second) != unquoted([]byte(want)) {
		t.Errorf("got\n%s\nwant\n%s", second, want)
	}
	// The same plan is not made a second time.
	if _, err := u.Apply(t.Context(), state(dir)); !errors.Is(err, install.ErrChangedMeanwhile) {
		t.Errorf("an old plan: %v", err)
	}
	for _, want := range [][]byte{first, second, first} {
		u, err := install.PlanRollback(t.Context(), state(dir), "guard", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Apply(t.Context(), state(dir)); err != nil {
			t.Fatal(err)
		}
		if got := readFile(t, filepath.Join(dir, config.FileName)); unquoted(got) != unquoted(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	// The module before was changed on disk: nothing of it comes into force.
	if u, err = install.PlanRollback(t.Context(), state(dir), "guard", nil); err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(u.To.Digest, "sha256:"))
	if err := os.Chmod(blob, 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, blob, "something else")
	if _, err := install.PlanRollback(t.Context(), state(dir), "guard", nil); !errors.Is(err, install.ErrRefused) {
		t.Errorf("a changed module: %v", err)
	}
}
