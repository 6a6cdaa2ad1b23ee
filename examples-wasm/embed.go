// Package exampleswasm carries the prebuilt example hooks into the binary. It
// decides nothing: package internal/builtin says which of them count and checks
// them against their lock.
package exampleswasm

import "embed"

// files holds digests.lock and the prebuilt modules, as NAME/NAME.wasm.
//
//go:embed digests.lock */*.wasm
var files embed.FS

// Read returns an embedded file.
func Read(name string) ([]byte, error) { return files.ReadFile(name) }
