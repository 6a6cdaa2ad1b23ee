// Package hookssdk carries the SDKs for C, Rust and AssemblyScript into the binary, so that a new hook
// brings its SDK and builds without a network. It decides nothing: package
// internal/hookbuild says which language wants which files. The SDK for Go is a module of
// its own, which go:embed does not enter: internal/hookbuild has an archive of it.
package hookssdk

import "embed"

//go:embed assemblyscript/*.ts assemblyscript/README.md assemblyscript/testing c/belay.h rust/Cargo.toml rust/README.md rust/src
var sources embed.FS

// Sources holds what an author needs of c, rust and assemblyscript, by their names below hooks-sdk: no
// tests, no build results.
func Sources() embed.FS { return sources }
