//go:build !cgo

package main

import (
	"context"
	"fmt"
)

func wasmtimeReused(string) func(context.Context, *yard) (judge, error) {
	return func(context.Context, *yard) (judge, error) {
		return nil, fmt.Errorf("%w: it is a library in C, and this program is built without cgo", errMissing)
	}
}
