package recording_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/belay-hooks/belay/internal/recording"
)

func hexsum(s string) string {
	b := sha256.Sum256([]byte(s))
	return hex.EncodeToString(b[:])
}

// Nothing that claims to be a recording makes the reader panic, and every error is
// one of its own.
func FuzzReader(f *testing.F) {
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, recording.Header{Source: recording.SourceTest, CostTable: 1})
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Record(sample("ls")); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"header":{},"sha256":""}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		_, _, _, err := readAll(bytes.NewReader(src))
		var e *recording.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%T %v", err, err)
		}
	})
}
