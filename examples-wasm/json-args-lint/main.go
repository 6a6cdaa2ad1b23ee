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
	problems := lint(rules)
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

// lint compares the arguments with {"required": [...], "closed": bool,
// "args": {NAME: {"type", "min", "max", "max_length", "one_of"}}}. It looks only at
// what there are rules for: what an agent puts beside it may be long and deep, and
// costs no fuel here.
func lint(rules hook.Value) []string {
	if hook.KindOf("/args") != hook.Object {
		return []string{"they are no object"}
	}
	var problems []string
	for _, name := range rules.Get("required").Texts() {
		if k := hook.KindOf(hook.Pointer("args", name)); k == hook.None || k == hook.Null {
			problems = append(problems, name+" is missing")
		}
	}
	known := rules.Get("args")
	for i, name := range known.Names() {
		if path := hook.Pointer("args", name); hook.Has(path) {
			if p := check(known.Items()[i], path); p != "" {
				problems = append(problems, name+" "+p)
			}
		}
	}
	if !rules.Get("closed").True() {
		return problems
	}
	for _, name := range hook.Keys("/args") {
		if known.Get(name).Kind() == hook.None {
			if problems = append(problems, name+" is not an argument of this tool"); len(problems) > maxProblems {
				break // no more are told
			}
		}
	}
	return problems
}

func check(rule hook.Value, path string) string {
	kind := hook.KindOf(path)
	if want := rule.Get("type").Text(); want != "" && !is(want, kind, path) {
		return "must be of type " + want
	}
	n, isInt := hook.Int(path)
	if min, ok := rule.Get("min").Int(); ok && isInt && n < min {
		return "must be at least " + hook.FormatInt(min)
	}
	if max, ok := rule.Get("max").Int(); ok && isInt && n > max {
		return "must be at most " + hook.FormatInt(max)
	}
	var text string
	if kind == hook.String {
		text = hook.Text(path)
	}
	if max, ok := rule.Get("max_length").Int(); ok && int64(len(text)) > max {
		return "must not be longer than " + hook.FormatInt(max) + " bytes"
	}
	options := rule.Get("one_of").Texts()
	for _, o := range options {
		if kind == hook.String && text == o {
			return ""
		}
	}
	if len(options) > 0 {
		return "must be one of the values allowed for it"
	}
	return ""
}

func is(want string, kind hook.Kind, path string) bool {
	switch want {
	case "string":
		return kind == hook.String
	case "number":
		return kind == hook.Number
	case "integer":
		_, ok := hook.Int(path)
		return ok
	case "boolean":
		return kind == hook.Bool
	case "array":
		return kind == hook.Array
	case "object":
		return kind == hook.Object
	}
	return false // a type that is not known fits nothing
}
