package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	wasmPage = 64 << 10
	// memoryGuest is a hook with so many pages of memory that, at each turn, grows by as many as the next number says
	// and writes the bytes of the last one.
	memoryGuest = `(module (memory (export "memory") %d 256)
  (func (export "pre_tool") (result i32)
    (if (i32.eq (memory.grow (i32.const %d)) (i32.const -1)) (then (return (i32.const -1))))
    (memory.fill (i32.const 0) (i32.const 1) (i32.const %d))
    (i32.const 0)))
`
	memoryManifest = "name: bench-memory\nversion: 1.0.0\ndescription: Writes memory.\nlicense: Apache-2.0\n" +
		"authors: [The belay authors]\nabi: 1\nphases: [pre_tool]\n"
)

// openMemory has guests take turns that differ in how much memory they have, and how much of it they write: a reset
// has to give that back.
func openMemory(ctx context.Context, y *yard) ([]subject, error) {
	_, document, err := event()
	if err != nil {
		return nil, err
	}
	var subjects []subject
	for _, c := range []struct {
		name, note           string
		pages, grown, writes int
	}{
		{"64 KiB, 4 KiB written", "", 1, 0, 4 << 10},
		{"64 KiB, all written", "", 1, 0, wasmPage},
		{"1 MiB, 256 KiB written", "", 16, 0, 256 << 10},
		{"16 MiB, 4 KiB written", "", 256, 0, 4 << 10},
		{"16 MiB, 4 MiB written", "", 256, 0, 4 << 20},
		{"64 KiB, grown to 16 MiB, 4 KiB written", "memory.grow", 1, 255, 4 << 10},
	} {
		file, err := y.memoryGuest(ctx, len(subjects), fmt.Sprintf(memoryGuest, c.pages, c.grown, c.writes))
		if errors.Is(err, errMissing) {
			subjects = append(subjects, subject{name: c.name, note: err.Error()})
			continue
		}
		if err != nil {
			return nil, err
		}
		turn, err := y.turns(ctx, file)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject{name: c.name, note: c.note, do: func(ctx context.Context) error {
			_, err := turn(ctx, document)
			return err
		}})
	}
	return subjects, nil
}

// memoryGuest builds a hook of this text.
func (y *yard) memoryGuest(ctx context.Context, n int, text string) ([]byte, error) {
	dir := filepath.Join(y.work, fmt.Sprintf("memory-%d", n))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	err := os.WriteFile(filepath.Join(dir, "hook.wat"), []byte(text), 0o600)
	if err2 := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte(memoryManifest), 0o600); err != nil || err2 != nil {
		return nil, errors.Join(err, err2)
	}
	return built(ctx, dir, filepath.Join(dir, "hook.wasm"), "")
}
