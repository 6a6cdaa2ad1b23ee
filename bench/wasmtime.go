//go:build cgo

package main

import (
	"context"
	"errors"
	"math"

	"github.com/bytecodealliance/wasmtime-go/v39"
)

// wasmtimeReused is the policy in wasmtime, one instance, with fuel set anew for each event.
func wasmtimeReused(lang string) func(context.Context, *yard) (judge, error) {
	return func(ctx context.Context, y *yard) (judge, error) {
		file, err := y.guest(ctx, lang)
		if err != nil {
			return nil, err
		}
		config := wasmtime.NewConfig()
		config.SetConsumeFuel(true)
		engine := wasmtime.NewEngineWithConfig(config)
		module, err := wasmtime.NewModule(engine, file)
		if err != nil {
			return nil, err
		}
		store := wasmtime.NewStore(engine)
		y.atEnd(store.Close)
		var document []byte
		blocked := false
		linker := wasmtime.NewLinker(engine)
		for _, f := range module.Imports() {
			call := func(*wasmtime.Caller, []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
				return []wasmtime.Val{wasmtime.ValI32(0)}, nil
			}
			switch *f.Name() {
			case "input_read":
				call = func(c *wasmtime.Caller, args []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
					if memory := c.GetExport("memory").Memory().UnsafeData(c); int(args[1].I32()) >= len(document) {
						copy(memory[args[0].I32():], document)
					}
					return []wasmtime.Val{wasmtime.ValI32(int32(len(document)))}, nil
				}
			case "block":
				call = func(*wasmtime.Caller, []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
					blocked = true
					return []wasmtime.Val{wasmtime.ValI32(0)}, nil
				}
			}
			if err := linker.FuncNew(f.Module(), *f.Name(), f.Type().FuncType(), call); err != nil {
				return nil, err
			}
		}
		if err := store.SetFuel(math.MaxInt32); err != nil {
			return nil, err
		}
		instance, err := linker.Instantiate(store, module)
		if err != nil {
			return nil, err
		}
		if f := instance.GetFunc(store, "_initialize"); f != nil {
			if _, err := f.Call(store); err != nil {
				return nil, err
			}
		}
		f := instance.GetFunc(store, "pre_tool")
		return func(_ context.Context, doc []byte) (bool, error) {
			document, blocked = doc, false
			if err := store.SetFuel(100 << 20); err != nil {
				return false, err
			}
			code, err := f.Call(store)
			if err == nil && code != int32(0) {
				err = errors.New("the policy failed")
			}
			return !blocked, err
		}, nil
	}
}
