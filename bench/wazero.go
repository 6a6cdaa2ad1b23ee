package main

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// bare is the policy's module in plain wazero, with host functions that do the least: they hand over the document and
// note a block. It is what an embedder writes in an afternoon.
type bare struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	document []byte
	blocked  bool
}

func newBare(ctx context.Context, y *yard, lang string, config wazero.RuntimeConfig) (*bare, error) {
	module, err := y.guest(ctx, lang)
	if err != nil {
		return nil, err
	}
	b := &bare{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	y.atEnd(func() { _ = b.runtime.Close(context.WithoutCancel(ctx)) })
	if b.compiled, err = b.runtime.CompileModule(ctx, module); err != nil {
		return nil, err
	}
	host := b.runtime.NewHostModuleBuilder("belay_v1")
	for _, f := range b.compiled.ImportedFunctions() {
		_, name, _ := f.Import()
		call := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 })
		switch name {
		case "input_read":
			call = func(_ context.Context, m api.Module, stack []uint64) {
				if n := uint64(len(b.document)); stack[1] >= n {
					m.Memory().Write(api.DecodeU32(stack[0]), b.document)
				}
				stack[0] = uint64(len(b.document))
			}
		case "block":
			call = func(_ context.Context, _ api.Module, stack []uint64) { b.blocked, stack[0] = true, 0 }
		}
		host.NewFunctionBuilder().WithGoModuleFunction(call, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	_, err = host.Instantiate(ctx)
	return b, err
}

func (b *bare) instantiate(ctx context.Context) (api.Module, error) {
	return b.runtime.InstantiateModule(ctx, b.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
}

func (b *bare) call(ctx context.Context, f api.Function, document []byte) (bool, error) {
	b.document, b.blocked = document, false
	var stack [1]uint64
	if err := f.CallWithStack(ctx, stack[:]); err != nil {
		return false, err
	}
	if stack[0] != 0 {
		return false, errors.New("the policy failed")
	}
	return !b.blocked, nil
}

func bareReused(lang string) func(context.Context, *yard) (judge, error) {
	return func(ctx context.Context, y *yard) (judge, error) {
		return reused(ctx, y, lang, wazero.NewRuntimeConfig())
	}
}

func bareStoppable(lang string) func(context.Context, *yard) (judge, error) {
	return func(ctx context.Context, y *yard) (judge, error) {
		j, err := reused(ctx, y, lang, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
		return func(ctx context.Context, document []byte) (bool, error) {
			ctx, cancel := context.WithTimeout(ctx, turnTime)
			defer cancel()
			return j(ctx, document)
		}, err
	}
}

func reused(ctx context.Context, y *yard, lang string, config wazero.RuntimeConfig) (judge, error) {
	b, err := newBare(ctx, y, lang, config)
	if err != nil {
		return nil, err
	}
	m, err := b.instantiate(ctx)
	if err != nil {
		return nil, err
	}
	f := m.ExportedFunction("pre_tool")
	return func(ctx context.Context, document []byte) (bool, error) { return b.call(ctx, f, document) }, nil
}

func bareFresh(lang string) func(context.Context, *yard) (judge, error) {
	return func(ctx context.Context, y *yard) (judge, error) {
		b, err := newBare(ctx, y, lang, wazero.NewRuntimeConfig())
		return func(ctx context.Context, document []byte) (bool, error) {
			m, err := b.instantiate(ctx)
			if err != nil {
				return false, err
			}
			defer m.Close(ctx)
			return b.call(ctx, m.ExportedFunction("pre_tool"), document)
		}, err
	}
}
