package arch_test

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/arch"
)

func TestArrows(t *testing.T) {
	pkgs := list(t)
	if len(pkgs) < 10 {
		t.Fatalf("only %d packages were found: the check would prove nothing", len(pkgs))
	}
	for _, s := range arch.Check(pkgs) {
		t.Error(s)
	}
}

// The check must be able to fail: each of these breaks one arrow.
func TestBrokenArrowsAreFound(t *testing.T) {
	for _, c := range []struct{ from, imports string }{
		{"phases", arch.Module + "/tiers"},
		{"tiers", arch.Module + "/hostcalls"},
		{"hostcalls", arch.Module + "/internal/sandbox"},
		{"internal/sandbox/wasm", arch.Module + "/hostcalls"},
		{"internal/sandbox", arch.Module + "/kernel"},
		{"internal/redact", arch.Module + "/hostcalls"},
		{"kernel", arch.Module + "/internal/store/sqlite"},
		{"kernel", arch.Module},
		{"client/wire", arch.Module + "/kernel"},
		{"client/wire", arch.Module + "/kernel/approvals"},
		{"kernel", arch.Module + "/client"},
		{"guard", arch.Module},
		{"harness", arch.Module},
		{"internal/retention", arch.Module},
		{"internal/replay", arch.Module},
		{"harness/harnesstest", arch.Module},
		{"harness/conformance", arch.Module},
		{"internal/suite", arch.Module},
		{"internal/suite", arch.Module + "/harness"},
		{"internal/fuzz", arch.Module},
		{"internal/rig", arch.Module + "/internal/loader"},
		{"internal/loader", arch.Module},
		{"internal/trust", arch.Module + "/internal/loader"},
		{"adapters/claude-code", arch.Module + "/cmd/internal/cli"},
		{"cmd/belay", arch.Module + "/kernel"},
		{"kernel", "github.com/tetratelabs/wazero"},
		{"hostcalls", "github.com/tetratelabs/wazero/api"},
		{"kernel", "database/sql"},
		{"tiers", "github.com/sigstore/sigstore/pkg/signature"},
		{"cmd/internal/cli", "oras.land/oras-go/v2/registry/remote"},
		{"cmd/internal/oci", arch.Module + "/tiers"},
		{"phases", "encoding/json"},
		{"cmd/internal/server", "encoding/json"},
		{"cmd/internal/hookcmd", "github.com/spf13/cobra"},
		{"cmd/internal/server", arch.Module + "/cmd/internal/cli"},
		{"somewhere/new", "fmt"},
	} {
		got := arch.Check([]arch.Package{{ImportPath: arch.Module + "/" + c.from, Imports: []string{c.imports}}})
		if len(got) != 1 {
			t.Errorf("%s importing %s: got %d findings %q, want 1", c.from, c.imports, len(got), got)
		}
	}
	fine := []arch.Package{
		{ImportPath: arch.Module + "/kernel", Imports: []string{arch.Module + "/phases", "context"}},
		{ImportPath: arch.Module, Imports: []string{arch.Module + "/internal/store/sqlite"}},
		{ImportPath: arch.Module + "/internal/sandbox/meter", Imports: []string{arch.Module + "/internal/sandbox/wasm"}},
	}
	if got := arch.Check(fine); len(got) != 0 {
		t.Errorf("allowed arrows are refused: %q", got)
	}
}

func TestEveryPackageSaysWhatItDecides(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", "{{if .GoFiles}}{{.ImportPath}}\t{{.Doc}}{{end}}", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, doc, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if path != "" && doc == "" {
			t.Errorf("%s has no package comment", path)
		}
	}
}

func list(t *testing.T) []arch.Package {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []arch.Package
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		f := strings.Fields(s.Text())
		pkgs = append(pkgs, arch.Package{ImportPath: f[0], Imports: f[1:]})
	}
	return pkgs
}
