//go:build unix

package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/prose"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const top = "../../.."

// docPages are the pages whose blocks are run or decoded here, by their path below the root.
func docPages(t *testing.T) map[string][]prose.Block {
	t.Helper()
	out := map[string][]prose.Block{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(top, f)
			out[rel] = prose.Blocks(string(src))
		}
	}
	if len(out) < 25 {
		t.Fatalf("only %d pages", len(out))
	}
	return out
}

// setups are what a page takes as given, as script: a daemon, files. A page without one begins in an empty directory,
// with a state directory that does not exist yet.
var setups = map[string]string{
	"docs/APPROVALS.md": "exec belay init\n",
	"docs/GUARDS.md":    "exec belay init\n",
	"docs/TRUST.md":     "env BELAY_KEY_PASSWORD=secret\n", // generate-key and sign ask for it at a terminal
}

// Every block of commands of a page is run as it stands, in the order of its page, and ends with the status that the
// page says (0 where it says none). Blocks with the mark "needs" or "by" are left to what they name.
func TestBlocksOfCommandsRun(t *testing.T) {
	dir := t.TempDir()
	commands := 0
	for page, blocks := range docPages(t) {
		var script, files strings.Builder
		script.WriteString(setups[page])
		count := 0
		for _, b := range blocks {
			if b.Language != "sh" || b.Needs != "" || b.By != "" {
				continue
			}
			count++
			status := b.Exit
			if status == "" {
				status = "0"
			}
			fmt.Fprintf(&script, "# %s:%d\nexec sh status.sh %d.sh %s\n", page, b.Line, b.Line, status)
			if b.Shows != "" {
				fmt.Fprintf(&script, "stdout '%s'\n", b.Shows)
			}
			fmt.Fprintf(&files, "-- %d.sh --\n%s", b.Line, b.Text)
		}
		if count == 0 {
			continue
		}
		commands += count
		for _, b := range blocks {
			if b.File != "" {
				fmt.Fprintf(&files, "-- %s --\n%s", b.File, b.Text)
			}
		}
		files.WriteString(statusScript)
		name := strings.NewReplacer("/", "_", ".md", ".txtar").Replace(page)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script.String()+files.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if commands < 30 {
		t.Fatalf("only %d blocks of commands", commands)
	}
	testscript.Run(t, pageParams(dir))
}

func pageParams(dir string) testscript.Params {
	return testscript.Params{Dir: dir, RequireExplicitExec: true, Setup: func(env *testscript.Env) error {
		home := filepath.Join(env.WorkDir, "home")
		env.Setenv("HOME", home)
		env.Setenv("BELAY_HOME", filepath.Join(env.WorkDir, "state"))
		return os.MkdirAll(home, 0o700)
	}}
}

// Every binding of a page, as the belay.yaml that it is a part of, leaves no hook that blocks. A module by its digest
// is one that the reader has.
func TestBindingsOfPagesAreReady(t *testing.T) {
	bindings := 0
	dir := t.TempDir()
	for page, blocks := range docPages(t) {
		var script, files strings.Builder
		for _, b := range blocks {
			switch {
			case strings.Contains(b.File, "/"): // cases, which lie elsewhere
			case b.File != "":
				fmt.Fprintf(&script, "cp %[1]s $BELAY_HOME/%[1]s\n", b.File)
				fmt.Fprintf(&files, "-- %s --\n%s", b.File, b.Text)
			case b.Needs != "", b.By != "", !strings.HasPrefix(b.Text, "hooks:\n"),
				!strings.Contains(b.Text, "module: "), strings.Contains(b.Text, "module: sha256:"):
			default:
				bindings++
				fmt.Fprintf(&script, "cp %d.yaml $BELAY_HOME/belay.yaml\nexec belay hook list\n! stdout BLOCKS\nstdout ready\n",
					b.Line)
				fmt.Fprintf(&files, "-- %d.yaml --\nversion: belay/v1\n%s", b.Line, b.Text)
			}
		}
		if script.Len() == 0 {
			continue
		}
		name := strings.NewReplacer("/", "_", ".md", ".txtar").Replace(page)
		text := "exec belay init\n" + script.String() + files.String()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if bindings < 10 {
		t.Fatalf("only %d bindings", bindings)
	}
	testscript.Run(t, pageParams(dir))
}

// statusScript runs the commands of a block in the directory in which the block before ended, stops at the first that
// fails, and compares the status.
const statusScript = `-- status.sh --
test ! -e "$WORK/cwd" || cd "$(cat "$WORK/cwd")"
sh -e -c 'trap "pwd >\"$WORK/cwd\"" EXIT; . "$WORK/$0"' "$1"
got=$?
cd "$WORK"
test $got = $2 || { echo "status $got, not $2" >&2; cat "$1" >&2; exit 1; }
`

// Every block of a page says in which language it is, and is run, decoded, checked by a test that exists, or says what
// it needs.
func TestEachBlockIsChecked(t *testing.T) {
	seen := map[string]int{}
	pages := docPages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, b := range pages[page] {
			at := fmt.Sprintf("%s:%d", page, b.Line)
			switch {
			case b.By != "":
				seen["by"]++
				if folder, name, _ := strings.Cut(b.By, "."); !testExists(t, folder, name) {
					t.Errorf("%s: there is no test %s in the folder %s", at, name, folder)
				}
			case b.Needs != "":
				seen["needs"]++
			case b.Language == "text", b.Language == "sh": // what is shown; what TestBlocksOfCommandsRun runs
				seen[b.Language]++
			case b.Language == "yaml":
				seen["yaml"]++
				if err := decodeYAML(b.Text); err != nil {
					t.Errorf("%s: %v", at, err)
				}
			case b.Language == "json":
				seen["json"]++
				if err := decodeJSON(b.Text); err != nil {
					t.Errorf("%s: %v", at, err)
				}
			default:
				t.Errorf("%s: a block in %q is not run, not decoded, and does not say what it needs", at, b.Language)
			}
		}
	}
	if seen["yaml"] < 40 || seen["sh"] < 20 {
		t.Errorf("blocks: %v", seen)
	}
}

// examples stand in pages for values that no reader can copy.
var examples = strings.NewReplacer(
	"sha256:…", "sha256:"+strings.Repeat("0123456789abcdef", 4),
	"ed25519:…", "ed25519:5vUFsv1ZxLXZ8pCYy1hUJvT+2XAEU9A5zCg1k0MpZ2E=",
	"P9SxeS6G…=", "P9SxeS6Gm1gnLxW2rPpA8cHfO2TQmR1xw0bUuOq3b1Y=",
	"age1…", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
)

// decodeYAML decodes a block as what its members say that it is: rules, cases, a manifest, a policy of trust, or a
// part of belay.yaml.
func decodeYAML(block string) error {
	src := []byte(examples.Replace(block))
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return err
	}
	has := func(member string) bool { _, ok := phases.Get(doc.JSON, "/"+member); return ok }
	whole := src
	if !has("version") {
		whole = append([]byte("version: belay/v1\n"), src...)
	}
	switch {
	case has("contact"):
		_, err = system.Parse(src)
	case has("cases"):
		_, err = suite.Parse(src)
	case has("abi"):
		_, err = tiers.ParseManifestSource(src)
	case has("rules") && strings.Contains(block, "rules/v1"):
		_, err = rules.Parse("rules.yaml", src)
	case has("rules"):
		_, err = tiers.ParsePolicy(whole, exampleKey)
	case has("require"): // a part of a rule
		rule := "version: belay/v1\ntrustedRoot: root.json\nrules:\n  - name: example\n    allOf: [{publicKey: {file: a.pub}}]\n"
		_, err = tiers.ParsePolicy(append([]byte(rule), src...), exampleKey)
	default:
		_, err = config.Parse(whole)
	}
	return err
}

// exampleKey makes the public key, or the trusted root, that a policy of a page names.
func exampleKey(name string, _ int64) ([]byte, error) {
	if strings.HasSuffix(name, ".json") {
		return []byte("{}"), nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

// decodeJSON decodes an invocation as the daemon does, and anything else as one strict value.
func decodeJSON(block string) error {
	if _, ok := phases.Get(jsontext.Value(block), "/phase"); ok {
		_, err := phases.DecodeInvocation([]byte(block))
		return err
	}
	v := jsontext.Value(block)
	if !v.IsValid() {
		return fmt.Errorf("no JSON: %s", block)
	}
	return nil
}

func testExists(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(src), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

// The program of docs/WIRE.md asks a daemon, and runs what it allows.
func TestWirePageAsks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "WIRE.md"))
	if err != nil {
		t.Fatal(err)
	}
	program := "import os\nstate_directory = os.environ['BELAY_HOME']\ndef run(action): print('ran', action['tool'])\n"
	for _, b := range prose.Blocks(string(page)) {
		if b.Language == "python" {
			program += b.Text
		}
	}
	daemon := serveProcess(t, wireState(t))
	cmd := exec.CommandContext(t.Context(), "python3", "-c", program)
	cmd.Env = append(os.Environ(), "BELAY_HOME="+daemon.dir)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ran exec\n" {
		t.Errorf("%v: %s", err, out)
	}
}
