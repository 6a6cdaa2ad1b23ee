package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/hookbuild"
)

// guest builds the policy as a hook: "c" or "rust". Where the compiler is not there, the error is errMissing.
func (y *yard) guest(ctx context.Context, lang string) ([]byte, error) {
	out := filepath.Join(y.work, lang+".wasm")
	return built(ctx, filepath.Join(y.root, "bench/guests", lang), out, filepath.Join(y.work, lang))
}

// built builds a hook from its directory. Where the compiler is not there, the error is errMissing.
func built(ctx context.Context, dir, out, work string) ([]byte, error) {
	_, err := hookbuild.Build(ctx, dir, hookbuild.Options{Output: out, WorkDir: work})
	if errors.Is(err, hookbuild.ErrTool) {
		return nil, fmt.Errorf("%w: %w", errMissing, err)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// plugin builds the policy for Extism.
func (y *yard) plugin(ctx context.Context) ([]byte, error) {
	out := filepath.Join(y.work, "plugin.wasm")
	cmd := exec.CommandContext(ctx, "clang-19", "--target=wasm32", "-std=c11", "-O2", "-nostdlib", "-ffreestanding",
		"-mbulk-memory", "-msign-ext", "-I", filepath.Join(y.root, "hooks-sdk/c"),
		"-Wl,--no-entry,-z,stack-size=16384", "-o", out, filepath.Join(y.root, "bench/guests/extism/policy.c"))
	if text, err := cmd.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("%w: clang-19 is missing", errMissing)
		}
		return nil, fmt.Errorf("clang-19: %w: %s", err, text)
	}
	return os.ReadFile(out)
}
