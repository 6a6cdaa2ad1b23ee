package hookrunner

import "strings"

// Value is what one handler returns: nil is undefined.
type Value = map[string]any

// Merge returns what the runner makes of the values that handlers return for a hook, in their order: by priority, the
// highest first, then as they were registered. ran is how many handlers were asked before the chain ended. In a claim
// and in an evaluation no value is merged: the result is the claim that won, or the first block.
func Merge(hook string, values []Value) (result Value, ran int) {
	h := Hooks()[hook]
	if h.Kind == Observe {
		return nil, len(values)
	}
	for _, next := range values {
		ran++
		if next == nil {
			continue
		}
		switch h.Kind {
		case Claim:
			if truthy(next["handled"]) {
				return next, ran
			}
			continue
		case Evaluate:
			if result == nil && next["decision"] == "block" {
				result = next
			}
			continue
		}
		if hook == "before_agent_run" {
			result = gate(result, next)
		} else {
			result = merge(hook, h, result, next)
		}
		if stops(h, result) {
			if h.Kind == Sync { // nothing is written: the message counts no more
				return Value{h.Stops: true}, ran
			}
			break
		}
	}
	return result, ran
}

// truthy is what JavaScript takes for true.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case float64:
		return v != 0
	}
	return true
}

func stops(h Hook, v Value) bool {
	return h.Stops != "" && (v[h.Stops] == true || h.Stops == "outcome" && v["outcome"] == "block")
}

// gate is the rule of before_agent_run: what is no decision blocks, and the first block stays.
func gate(prev, next Value) Value {
	if !decision(next) {
		next = Value{"outcome": "block", "reason": "before_agent_run returned an invalid decision"}
	}
	if prev == nil || next["outcome"] == "block" && prev["outcome"] != "block" {
		return next
	}
	return prev
}

// decision reports whether a value is a decision of before_agent_run: pass alone, or a block with a reason.
func decision(v Value) bool {
	if v["outcome"] == "pass" {
		return len(v) == 1
	}
	if v["outcome"] != "block" {
		return false
	}
	for name, value := range v {
		text, is := value.(string)
		switch name {
		case "outcome":
		case "reason", "message", "category":
			if !is || strings.TrimSpace(text) == "" {
				return false
			}
		case "metadata":
			if _, is := value.(map[string]any); !is {
				return false
			}
		default:
			return false
		}
	}
	return v["reason"] != nil
}

func merge(hook string, h Hook, prev, next Value) Value {
	if hook == "before_agent_finalize" {
		return finalize(prev, next)
	}
	out := Value{}
	for name, rule := range h.Members {
		was, is := prev[name], next[name]
		var v any
		switch rule {
		case FirstDefined:
			v = or(was, is)
		case LastDefined, Pipeline:
			v = or(is, was)
		case Frozen: // by the first question for the person
			if v = or(is, was); prev["requireApproval"] != nil {
				v = was
			}
		case StickyTrue:
			if was == true || is == true {
				v = true
			}
		case Concat:
			v = concat(was, is)
		case Findings:
			a, _ := was.([]any)
			b, _ := is.([]any)
			if list := append(append([]any{}, a...), b...); len(list) > 0 {
				v = list
			}
		case Intersect:
			v = intersect(was, is)
		}
		if v != nil {
			out[name] = v
		}
	}
	if h.Members["*"] == LastWins {
		for _, from := range []Value{prev, next} {
			for name, v := range from {
				out[name] = v
			}
		}
	}
	return out
}

// finalize is the rule of before_agent_finalize. Candidates for a retry keep their order: the first is the result's.
func finalize(prev, next Value) Value {
	switch {
	case prev["action"] == "finalize":
		return prev
	case next["action"] == "finalize":
		return next
	case prev["action"] == "revise" && next["action"] == "revise":
		out := Value{"action": "revise"}
		if reason := concat(prev["reason"], next["reason"]); reason != nil {
			out["reason"] = reason
		}
		if retry := or(prev["retry"], next["retry"]); retry != nil {
			out["retry"] = retry
		}
		return out
	case prev["action"] == "revise":
		return prev
	case next["action"] == "revise", next["action"] == "continue", prev == nil:
		return next
	}
	return prev
}

func or(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

func concat(a, b any) any {
	left, _ := a.(string)
	right, _ := b.(string)
	if left != "" && right != "" {
		return left + "\n\n" + right
	}
	return or(b, a)
}

// intersect narrows a list of tools. A list that is none, or has something else than texts in it, allows no tool.
func intersect(a, b any) any {
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		return tools(b)
	case b == nil:
		return tools(a)
	}
	left, right, out := tools(a), tools(b), []any{}
	for _, name := range left {
		for _, other := range right {
			if name == other {
				out = append(out, name)
			}
		}
	}
	return out
}

func tools(v any) []any {
	list, _ := v.([]any)
	for _, name := range list {
		if _, is := name.(string); !is {
			return []any{}
		}
	}
	if list == nil {
		return []any{}
	}
	return list
}
