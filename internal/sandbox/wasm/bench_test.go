package wasm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// goGuest compiles testdata/goguest for wasip1, once: about 3.5 MB.
var goGuest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "goguest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	c := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/goguest")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if msg, err := c.CombinedOutput(); err != nil {
		_, _ = os.Stderr.Write(msg)
		return nil, err
	}
	return os.ReadFile(out)
})

func guest(t testing.TB) ([]byte, wasm.Limits) {
	t.Helper()
	b, err := goGuest()
	if err != nil {
		t.Fatal(err)
	}
	lim := wasm.DefaultLimits()
	lim.NoManifest = true
	return b, lim
}

func BenchmarkParseGo(b *testing.B) {
	file, lim := guest(b)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := wasm.Parse(file, lim)
		if err != nil {
			b.Fatal(err)
		}
		_ = m
	}
}

func BenchmarkEstimateGo(b *testing.B) {
	file, lim := guest(b)
	m, err := wasm.Parse(file, lim)
	if err != nil {
		b.Fatal(err)
	}
	var c wasm.Cost
	for b.Loop() {
		c = wasm.Estimate(m)
	}
	b.ReportMetric(float64(c.Nanos)/1e9, "estimate-s")
}

func BenchmarkEncodeGo(b *testing.B) {
	file, lim := guest(b)
	m, err := wasm.Parse(file, lim)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wasm.Encode(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReaderGo(b *testing.B) {
	file, lim := guest(b)
	m, err := wasm.Parse(file, lim)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(m.Facts.CodeSize))
	b.ReportAllocs()
	var in wasm.Instr
	for b.Loop() {
		for i := range m.Funcs {
			r := wasm.NewReader(m.Funcs[i].Body)
			for r.Next(&in) == nil {
			}
		}
	}
}
