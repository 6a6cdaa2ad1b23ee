package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/dop251/goja"
	"github.com/open-policy-agent/opa/v1/rego"
)

func plainGo(context.Context, *yard) (judge, error) {
	return func(_ context.Context, document []byte) (bool, error) {
		var doc struct {
			Args struct{ Command string }
		}
		err := json.Unmarshal(document, &doc)
		return !strings.Contains(doc.Args.Command, forbidden), err
	}, nil
}

func celPrepared(context.Context, *yard) (judge, error) {
	env, err := cel.NewEnv(cel.Variable("input", cel.DynType))
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(`!input.args.command.contains("` + forbidden + `")`)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(ast)
	return func(ctx context.Context, document []byte) (bool, error) {
		var input map[string]any
		if err := json.Unmarshal(document, &input); err != nil {
			return false, err
		}
		out, _, err := program.ContextEval(ctx, map[string]any{"input": input})
		if err != nil {
			return false, err
		}
		yes, ok := out.Value().(bool)
		if !ok {
			err = errors.New("no boolean")
		}
		return yes, err
	}, err
}

func opaPrepared(ctx context.Context, _ *yard) (judge, error) {
	query, err := rego.New(rego.Query("data.bench.allow"), rego.Module("bench.rego", `package bench

default allow := false

allow if not contains(input.args.command, "`+forbidden+`")
`)).PrepareForEval(ctx)
	return func(ctx context.Context, document []byte) (bool, error) {
		var input any
		if err := json.Unmarshal(document, &input); err != nil {
			return false, err
		}
		set, err := query.Eval(ctx, rego.EvalInput(input))
		return set.Allowed(), err
	}, err
}

func gojaReused(context.Context, *yard) (judge, error) {
	vm := goja.New()
	if _, err := vm.RunString(`function decide(text) {
		return !JSON.parse(text).args.command.includes("` + forbidden + `");
	}`); err != nil {
		return nil, err
	}
	decide, ok := goja.AssertFunction(vm.Get("decide"))
	if !ok {
		return nil, errors.New("no function")
	}
	return func(_ context.Context, document []byte) (bool, error) {
		v, err := decide(goja.Undefined(), vm.ToValue(string(document)))
		if err != nil {
			return false, err
		}
		return v.ToBoolean(), nil
	}, nil
}
