// Command goguest is a guest of the size that standard Go has with encoding/json: the
// benchmarks and the long tests of package wasm compile it for wasip1.
package main

import (
	"encoding/json"
	"regexp"
	"unsafe"
)

var buf [4096]byte

//go:wasmexport pre_tool
func preTool() int32 {
	var v struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args"`
	}
	if json.Unmarshal(buf[:], &v) != nil || regexp.MustCompile(`rm\s+-rf`).MatchString(v.Tool) {
		return 1
	}
	return int32(uintptr(unsafe.Pointer(&buf[0])) & 1)
}

func main() {}
