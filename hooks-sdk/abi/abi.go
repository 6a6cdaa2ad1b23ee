// Package abi holds the guest ABI as data, for authors of another SDK or
// another host: abi.json lists every host function with its core signature,
// group, capability, phases and limits, and every number that crosses the
// border. README.md says what they mean. The package decides nothing; its test
// keeps the data, the specification, the SDKs and this repository's host
// in step.
package abi

import _ "embed"

//go:embed abi.json
var vectors []byte

// Vectors returns abi.json. The slice is the caller's.
func Vectors() []byte { return append([]byte(nil), vectors...) }
