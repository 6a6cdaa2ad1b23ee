package main

import (
	"context"
	"errors"

	extism "github.com/extism/go-sdk"
)

func (y *yard) extism(ctx context.Context) (*extism.CompiledPlugin, error) {
	module, err := y.plugin(ctx)
	if err != nil {
		return nil, err
	}
	p, err := extism.NewCompiledPlugin(ctx, extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: module}}},
		extism.PluginConfig{}, nil)
	if err == nil {
		y.atEnd(func() { _ = p.Close(context.WithoutCancel(ctx)) })
	}
	return p, err
}

// decided makes a decision of what a plugin's call returns: 0 is yes, and 1 an error besides.
func decided(code uint32, err error) (bool, error) {
	switch {
	case code == 1:
		return false, nil
	case err != nil:
		return false, err
	case code != 0:
		return false, errors.New("the plugin failed")
	}
	return true, nil
}

func extismReused(ctx context.Context, y *yard) (judge, error) {
	compiled, err := y.extism(ctx)
	if err != nil {
		return nil, err
	}
	plugin, err := compiled.Instance(ctx, extism.PluginInstanceConfig{})
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = plugin.Close(context.WithoutCancel(ctx)) })
	return func(ctx context.Context, document []byte) (bool, error) {
		code, _, err := plugin.CallWithContext(ctx, "decide", document)
		return decided(code, err)
	}, nil
}

func extismFresh(ctx context.Context, y *yard) (judge, error) {
	compiled, err := y.extism(ctx)
	return func(ctx context.Context, document []byte) (bool, error) {
		plugin, err := compiled.Instance(ctx, extism.PluginInstanceConfig{})
		if err != nil {
			return false, err
		}
		defer plugin.Close(ctx)
		code, _, err := plugin.CallWithContext(ctx, "decide", document)
		return decided(code, err)
	}, err
}
