// Command json-args-lint is a hook that checks the arguments of tool calls
// before they run, and tells the agent everything that is wrong with them at
// once, so that it can mend the call in one go.
package main

import hook "github.com/belay-hooks/belay/hooks-sdk/go"

func main() {}

const maxProblems = 12

//go:wasmexport pre_tool
func preTool() int32 {
	tool := hook.Text("/tool")
	rules := hook.ConfigValue(hook.Pointer("tools", tool))
	if rules.Kind() == hook.None {
		return hook.OK
	}
	problems := lint(rules, hook.InputValue("/args"))
	if len(problems) == 0 {
		return hook.OK
	}
	reason := "the arguments of " + tool + " are wrong: "
	for i, p := range problems {
		if i == maxProblems {
			reason += "; and more"
			break
		}
		if i > 0 {
			reason += "; "
		}
		reason += p
	}
	hook.Block(reason)
	return hook.OK
}

// lint compares arguments with {"required": [...], "closed": bool,
// "args": {NAME: {"type", "min", "max", "max_length", "one_of"}}}.
func lint(rules, args hook.Value) []string {
	if args.Kind() != hook.Object {
		return []string{"they are no object"}
	}
	var problems []string
	for _, name := range rules.Get("required").Texts() {
		if k := args.Get(name).Kind(); k == hook.None || k == hook.Null {
			problems = append(problems, name+" is missing")
		}
	}
	known := rules.Get("args")
	for i, name := range args.Names() {
		rule := known.Get(name)
		if rule.Kind() == hook.None {
			if rules.Get("closed").True() {
				problems = append(problems, name+" is not an argument of this tool")
			}
			continue
		}
		if p := check(rule, args.Items()[i]); p != "" {
			problems = append(problems, name+" "+p)
		}
	}
	return problems
}

func check(rule, v hook.Value) string {
	if want := rule.Get("type").Text(); want != "" && !is(want, v) {
		return "must be of type " + want
	}
	n, isInt := v.Int()
	if min, ok := rule.Get("min").Int(); ok && isInt && n < min {
		return "must be at least " + hook.FormatInt(min)
	}
	if max, ok := rule.Get("max").Int(); ok && isInt && n > max {
		return "must be at most " + hook.FormatInt(max)
	}
	if max, ok := rule.Get("max_length").Int(); ok && int64(len(v.Text())) > max {
		return "must not be longer than " + hook.FormatInt(max) + " bytes"
	}
	options := rule.Get("one_of").Texts()
	for _, o := range options {
		if v.Kind() == hook.String && v.Text() == o {
			return ""
		}
	}
	if len(options) > 0 {
		return "must be one of the values allowed for it"
	}
	return ""
}

func is(want string, v hook.Value) bool {
	switch want {
	case "string":
		return v.Kind() == hook.String
	case "number":
		return v.Kind() == hook.Number
	case "integer":
		_, ok := v.Int()
		return ok
	case "boolean":
		return v.Kind() == hook.Bool
	case "array":
		return v.Kind() == hook.Array
	case "object":
		return v.Kind() == hook.Object
	}
	return false // a type that is not known fits nothing
}
