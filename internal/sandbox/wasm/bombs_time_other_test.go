//go:build !unix

package wasm_test

import (
	"testing"
	"time"
)

func processTime(t *testing.T) time.Duration {
	t.Skip("no processor time on this system")
	return 0
}
