package arch_test

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

// A file is named after its subject. The name of its package says nothing about it; the front
// door, belay.go, is the one exception. SDKs and examples are modules of their own.
func TestNoFileRepeatsItsPackage(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{$p := .}}{{range .GoFiles}}{{$p.ImportPath}}/{{.}}\n{{end}}", "../../...").
		Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	if len(files) < 500 {
		t.Fatalf("only %d files", len(files))
	}
	for _, file := range files {
		folder := path.Base(path.Dir(file))
		name := strings.TrimSuffix(path.Base(file), ".go")
		if strings.Contains(file, "/hooks-sdk/") || path.Dir(file) == "github.com/belay-hooks/belay" {
			continue
		}
		if name == folder || strings.HasPrefix(name, folder+"_") {
			t.Errorf("%s repeats the name of its package", file)
		}
	}
}
