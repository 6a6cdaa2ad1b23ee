package retention_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/recording"
)

// What keeping costs a caller, beside the record that is written anyway.
func BenchmarkInvoke(b *testing.B) {
	_, to, err := recording.NewIdentity()
	if err != nil {
		b.Fatal(err)
	}
	for name, lines := range map[string]string{"keeping nothing": "", "drop": "  on_error: drop\n",
		"block": "  on_error: block\n"} {
		b.Run(name, func(b *testing.B) {
			state := filepath.Join(b.TempDir(), "state")
			src := "version: belay/v1\n" + hooks
			if lines != "" {
				src += "recordings:\n  dir: " + filepath.Join(b.TempDir(), "kept") + "\n  recipients: [" + to + "]\n" + lines
			}
			if err := os.MkdirAll(state, 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(state, "belay.yaml"), []byte(src), 0o600); err != nil {
				b.Fatal(err)
			}
			host, err := belay.Open(context.Background(), state, belay.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer host.Close()
			inv := invocation("ls -la")
			for b.Loop() {
				if _, err := host.Invoke(context.Background(), inv); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
