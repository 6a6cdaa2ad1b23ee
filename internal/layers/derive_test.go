package layers_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/layers"
)

const organisation = `version: belay/v1
hooks:
  - name: command-guard
    module: builtin:command-guard
    capabilities: []
    priority: 100
  - name: house
    module: hooks/house.wasm
    digest: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    config_file: house.yaml
    capabilities: [state_get]
  - name: words
    module: rules:words.yaml#changes
    capabilities: []
approvals: {unsigned: true}
reviewers:
  - {name: carol, key: "ed25519:O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik="}
  - {name: dave, key: "ed25519:zswVB9wd3XKVlRwpCIjwla25BE0bc9aW5t8GXWg71Pw="}
scopes: {fs_write: [/work]}
redact: {secrets: ["file:tokens", "env:TOKEN"], gitleaks: leaks.toml}
`

func derive(t *testing.T, s layers.Sources) (*config.File, layers.Sources) {
	t.Helper()
	d, err := layers.Derive(s)
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse(d.File)
	if err != nil {
		t.Fatal(err)
	}
	s.Before, s.Origin = d.File, d.Origin
	return f, s
}

// The derived file says what the organisation's does, with its paths from the top.
func TestDerive(t *testing.T) {
	f, _ := derive(t, layers.Sources{Organisation: []byte(organisation), Dir: "/etc/belay"})
	want := []string{"builtin:command-guard", "/etc/belay/hooks/house.wasm", "rules:/etc/belay/words.yaml#changes"}
	for i, b := range f.Hooks {
		if b.Module != want[i] {
			t.Errorf("%s is %s, want %s", b.Name, b.Module, want[i])
		}
	}
	if f.Hooks[1].ConfigFile != "/etc/belay/house.yaml" || f.Redact.Gitleaks != "/etc/belay/leaks.toml" ||
		!slices.Equal(f.Redact.Secrets, []string{"file:/etc/belay/tokens", "env:TOKEN"}) {
		t.Errorf("%+v, %+v", f.Hooks[1], f.Redact)
	}
	if f.Approvals.Unsigned {
		t.Error("a question counts as decided without a signature")
	}
	if len(f.Reviewers) != 0 {
		t.Errorf("reviewers without a name in system.yaml: %+v", f.Reviewers)
	}
}

// Only the reviewers that system.yaml names for the user can decide their questions.
func TestReviewers(t *testing.T) {
	f, _ := derive(t, layers.Sources{Organisation: []byte(organisation), Dir: "/etc/belay",
		Reviewers: []string{"dave", "eve"}})
	if len(f.Reviewers) != 1 || f.Reviewers[0].Name != "dave" {
		t.Errorf("%+v", f.Reviewers)
	}
}

// A hook that a reviewer approved for the user stays when the organisation's file changes, and goes when the
// organisation takes its name. A hook that the organisation removes is not taken for an approved one.
func TestApprovedHooksStay(t *testing.T) {
	_, s := derive(t, layers.Sources{Organisation: []byte(organisation), Dir: "/etc/belay"})
	approved := `{"name": "mine", "module": "sha256:` + strings.Repeat("a", 64) + `", "capabilities": []}`
	s.Before = []byte(strings.Replace(string(s.Before), `"hooks": [`, `"hooks": [`+approved+`,`, 1))
	names := func(f *config.File) (out []string) {
		for _, b := range f.Hooks {
			out = append(out, b.Name)
		}
		return out
	}
	s.Organisation = []byte(strings.Replace(organisation, "name: words", "name: phrases", 1))
	f, s := derive(t, s)
	if want := []string{"command-guard", "house", "phrases", "mine"}; !slices.Equal(names(f), want) {
		t.Errorf("%v, want %v", names(f), want)
	}
	s.Organisation = []byte(strings.Replace(organisation, "name: words", "name: mine", 1))
	f, s = derive(t, s)
	if want := []string{"command-guard", "house", "mine"}; !slices.Equal(names(f), want) ||
		!strings.HasPrefix(f.Hooks[2].Module, "rules:") {
		t.Errorf("%v, want %v", names(f), want)
	}
	s.Origin = []byte(`{"version":"belay-layers/v2"}`)
	if _, err := layers.Derive(s); !errors.Is(err, config.ErrConfig) {
		t.Errorf("an origin of another version: %v", err)
	}
}

// Each user has a kernel of their own in the store that the organisation names.
func TestEachUserHasAKernel(t *testing.T) {
	s := sources(floor+"store: {postgres: {dsn_file: /etc/belay/dsn, kernel: build-7}}\n", mine)
	names := map[string]bool{}
	for _, uid := range []int{1000, 1001} {
		s.UID = uid
		d, err := layers.Derive(s)
		if err != nil {
			t.Fatal(err)
		}
		f, err := config.Parse(d.File)
		if err != nil || f.Central() == nil || f.Central().DSNFile != "/etc/belay/dsn" {
			t.Fatalf("%+v, %v", f, err)
		}
		names[f.Central().Kernel] = true
	}
	if len(names) != 2 || !names["build-7-1000"] || !names["build-7-1001"] {
		t.Errorf("%v", names)
	}
	own := mine + "store: {postgres: {dsn_file: /home/u/dsn, kernel: mine}}\n"
	if _, err := layers.ParseUser([]byte(own)); err == nil ||
		!strings.Contains(err.Error(), "/store: is the organisation's alone") {
		t.Errorf("a user's own store: %v", err)
	}
}
