package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A digest is written by phases.ByteDigest or SumDigest, and nowhere else.
func TestOneSpellingOfDigests(t *testing.T) {
	spelled := regexp.MustCompile(`"sha256:(" ?\+|%[xs])`)
	known := map[string]string{
		"phases/canonical.go":          "the one",
		"internal/recording/reader.go": "the format has the hexadecimal form of a running sum",
		"internal/recording/writer.go": "the same",
		"internal/recording/value.go":  "shows eight bytes of one",
		"internal/replay/turns.go":     "shows what a recording has in hexadecimal form",
		"kernel/storetest/leases.go":   "the digest of nothing",
	}
	top := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(top, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || name == "hooks-sdk" || name == "examples-wasm" ||
			strings.HasPrefix(d.Name(), ".") && path != top):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		seen++
		src, err := os.ReadFile(path)
		if at := spelled.FindIndex(src); at != nil && known[name] == "" {
			t.Errorf("%s:%d spells a digest: call phases.ByteDigest or SumDigest", name,
				1+strings.Count(string(src[:at[0]]), "\n"))
		}
		return err
	})
	if err != nil || seen < 300 {
		t.Errorf("%d files were looked at: %v", seen, err)
	}
}
