package sandbox

import (
	"context"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"
)

// HasCompiler reports whether the engine has a compiler for this kind of machine.
func HasCompiler() bool {
	switch runtime.GOOS {
	case "linux", "darwin", "freebsd", "netbsd", "windows":
		return runtime.GOARCH == "arm64" || runtime.GOARCH == "amd64" && cpu.X86.HasSSE41
	case "dragonfly", "solaris", "illumos":
		return runtime.GOARCH == "amd64" && cpu.X86.HasSSE41
	}
	return false
}

// empty is the smallest module.
const empty = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x04\x01\x02\x00\x0b"

// Compiles reports whether this process runs hooks on the compiler. Where memory may not
// be made executable the engine falls back to its interpreter without a word; so this
// compiles a function of nothing, by the compiler and nothing else.
func Compiles() bool { return HasCompiler() && compileEmpty() == nil }

func compileEmpty() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
	}()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer r.Close(ctx)
	_, err = r.CompileModule(ctx, []byte(empty))
	return err
}
