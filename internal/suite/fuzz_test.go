package suite_test

import (
	"errors"
	"os"
	"testing"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/suite"
)

// A file that is no suite is an error of the class that names a line, never a panic.
func FuzzReadSuite(f *testing.F) {
	f.Add([]byte(file))
	b, err := os.ReadFile(asks)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := suite.Parse(src)
		switch {
		case err != nil && !errors.Is(err, strictyaml.ErrInvalid):
			t.Fatalf("error without class: %v", err)
		case err == nil && len(s.Cases) == 0:
			t.Fatal("a suite without cases")
		}
	})
}
