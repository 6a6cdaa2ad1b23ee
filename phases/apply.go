package phases

import (
	"github.com/go-json-experiment/json/jsontext"
)

// ApplyEffect checks one effect of a hook and returns the action as it stands
// after it: changed by a rewrite or a redaction, else the same. Legality comes
// first (the phase's Rules, the pass, the actor's grants), then form, then
// the result, which must still decode strictly as the phase's action, be no
// larger than MaxInputBytes, and keep the fixed parts: places outside of the
// phase's rewritable ones, entries of arrays that may only lose some, credential headers.
//
// Effects on other things than the action (annotate, clamp, …) are checked by
// themselves only; annotate and Chain.Add check them against the state so far.
//
// Every error has a method Fault() *Fault, which returns the failure of the hook's turn, and may be
// of class ErrDenied or ErrTooLarge. A mutator that would change something in the validate pass is denied.
func ApplyEffect(phase Phase, pass Pass, action jsontext.Value, by Actor, effect Effect) (jsontext.Value, error) {
	rules := RulesFor(phase)
	out, err := applyEffect(rules, pass, action, by, effect)
	if err != nil {
		return nil, explain(err, rules, by, effect)
	}
	return out, nil
}

func applyEffect(rules Rules, pass Pass, action jsontext.Value, by Actor, effect Effect) (jsontext.Value, error) {
	phase := rules.Phase
	if effect.Kind == EffectBlock && rules.Block {
		return action, nil // never refused, whatever else is wrong
	}
	if !rules.Legal(effect.Kind) {
		return nil, effectError(ErrDenied, effect, "not legal in the phase %s", SafeLine(string(phase), 32))
	}
	if !by.granted(effect.Kind) {
		return nil, effectError(ErrDenied, effect, "not granted")
	}
	if err := checkPass(phase, pass, by, effect); err != nil {
		return nil, err
	}
	if effectSize(effect) > maxEffectBytes {
		return nil, effectError(ErrTooLarge, effect, "larger than %d bytes", maxEffectBytes)
	}
	var out jsontext.Value
	var err error
	switch effect.Kind {
	case EffectRewrite:
		out, err = applyRewrite(rules, action, by, effect)
	case EffectRedact:
		out, err = applyRedact(rules, action, effect)
	default:
		out, err = action, checkEffect(by, effect)
	}
	if err != nil {
		return nil, err
	}
	if len(out) > MaxInputBytes && len(out) > len(action) {
		return nil, effectError(ErrTooLarge, effect, "the action would be larger than %d bytes", MaxInputBytes)
	}
	if pass == PassValidate && !unchanged(phase, action, out, effect) {
		return nil, effectError(errUnstable, effect, "the action was already judged in another form")
	}
	return out, nil
}

// unchanged reports whether an effect left the action as it was. Everything but
// the value at its path has kept its bytes, so only that is compared; headers may
// have been written in another order.
func unchanged(p Phase, action, out jsontext.Value, e Effect) bool {
	switch {
	case string(action) == string(out):
		return true
	case e.Remove:
		return false
	case p == PreSend && Covers("/headers", e.Path):
		return Same(action, out)
	}
	before, had := Get(action, e.Path)
	after, has := Get(out, e.Path)
	return had && has && Same(before, after)
}

func applyRewrite(rules Rules, action jsontext.Value, by Actor, effect Effect) (jsontext.Value, error) {
	if err := CheckPointer(effect.Path); err != nil {
		return nil, invalid(effect, err)
	}
	rule, ok := rules.rewriteRule(effect.Path)
	if !ok {
		return nil, effectError(ErrDenied, effect, "the phase %s does not permit a rewrite here", rules.Phase)
	}
	if !by.mayRewrite(rule, effect.Path) {
		return nil, effectError(ErrDenied, effect, "not granted")
	}
	if effect.Remove && effect.Value != nil {
		return nil, effectError(errInvalid, effect, "a removal with a value")
	}
	if !effect.Remove {
		if err := checkEffectValue(effect); err != nil {
			return nil, err
		}
	}
	return withoutCredentials(rules.Phase, action, effect, func(action jsontext.Value) (jsontext.Value, error) {
		var out jsontext.Value
		var err error
		if effect.Remove {
			out, err = remove(action, effect.Path)
		} else {
			out, err = Set(action, effect.Path, effect.Value)
		}
		if err != nil {
			return nil, invalid(effect, err)
		}
		if err := checkResult(rules.Phase, out, effect); err != nil {
			return nil, err
		}
		if rule.Subset {
			if err := checkSubset(action, out, rule, effect); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

func applyRedact(rules Rules, action jsontext.Value, effect Effect) (jsontext.Value, error) {
	if err := CheckPointer(effect.Path); err != nil {
		return nil, invalid(effect, err)
	}
	if !rules.redactable(effect.Path) {
		return nil, effectError(ErrDenied, effect, "the phase %s does not permit a redaction here", rules.Phase)
	}
	return withoutCredentials(rules.Phase, action, effect, func(action jsontext.Value) (jsontext.Value, error) {
		v, found, err := find(action, effect.Path)
		if err != nil {
			return nil, invalid(effect, err)
		}
		if !found {
			return nil, effectError(errInvalid, effect, "there is nothing to redact")
		}
		room := max(MaxInputBytes, len(action)) - (len(action) - len(v))
		masked, ok := redactValue(v, quote("[redacted:"+safeLabel(effect.Label)+"]"), room)
		if !ok {
			return nil, effectError(ErrTooLarge, effect, "the action would be larger than %d bytes", MaxInputBytes)
		}
		out, err := Set(action, effect.Path, masked)
		if err != nil {
			return nil, invalid(effect, err)
		}
		if err := checkResult(rules.Phase, out, effect); err != nil {
			return nil, err
		}
		return out, nil
	})
}

// redactValue returns the mask in place of a plain value, and in place of every
// string inside an object or array. Names stay: from them a reader can tell
// which values stood there. It stops with false where the result would be larger than
// room: a mask can be thirty times as long as the empty strings that it covers.
func redactValue(value jsontext.Value, mask []byte, room int) (jsontext.Value, bool) {
	if k := kindOf(value); k != '{' && k != '[' {
		return mask, true
	}
	out := make([]byte, 0, len(value))
	from := 0
	for i := 0; i < len(value); i++ {
		if value[i] != '"' {
			continue
		}
		end, _ := skipString(value, i)
		if next := skipSpace(value, end); next >= len(value) || value[next] != ':' { // not a name
			if len(out)+i-from+len(mask) > room {
				return nil, false
			}
			out = append(append(out, value[from:i]...), mask...)
			from = end
		}
		i = end - 1
	}
	return append(out, value[from:]...), true
}

// withoutCredentials runs change on the action as hooks see it, without the
// credential headers, and puts them back: they are neither shown nor settable
// nor removable.
func withoutCredentials(phase Phase, action jsontext.Value, effect Effect,
	change func(jsontext.Value) (jsontext.Value, error)) (jsontext.Value, error) {
	if phase != PreSend || !Covers("/headers", effect.Path) {
		return change(action)
	}
	shown, hidden, err := hideCredentials(phase, action)
	if err != nil {
		return nil, invalid(effect, err)
	}
	if effect.Path != "/headers" {
		if name, _ := splitToken(effect.Path[len("/headers"):]); isCredentialHeader(name) {
			return nil, effectError(ErrDenied, effect, "credential headers cannot be changed")
		}
		return change(action)
	}
	out, err := change(shown)
	if err != nil {
		return nil, err
	}
	if _, set, err := hideCredentials(phase, out); err != nil || set != nil {
		return nil, effectError(ErrDenied, effect, "credential headers cannot be changed")
	}
	if out, err = restoreCredentials(out, hidden); err != nil {
		return nil, invalid(effect, err)
	}
	return out, nil
}

// checkSubset checks that an array only lost entries, in the order that it had.
func checkSubset(before, after jsontext.Value, rule RewriteRule, effect Effect) error {
	old, had := Get(before, rule.Pointer)
	now, has := Get(after, rule.Pointer)
	if !had {
		if has && kindOf(now) == '[' && string(trim(now)) != "[]" {
			return effectError(errInvalid, effect, "entries may only be dropped, and there were none")
		}
		return nil
	}
	if !has { // absent can mean "all" to a runtime
		return effectError(errInvalid, effect, "entries may only be dropped: write the empty array instead of removing it")
	}
	list, err := canonicalElements(old)
	if err != nil {
		return invalid(effect, err)
	}
	kept, err := canonicalElements(now)
	if err != nil {
		return invalid(effect, err)
	}
	next, subset := 0, true
	for _, entry := range kept {
		for next < len(list) && list[next] != entry {
			next++
		}
		if subset = next < len(list); !subset {
			break
		}
		next++
	}
	if !subset {
		return effectError(errInvalid, effect, "entries may only be dropped, not added, changed or reordered")
	}
	return nil
}

// canonicalElements returns the canonical form of each element: once each, since
// both the number and the length of entries can be large.
func canonicalElements(array jsontext.Value) ([]string, error) {
	var out []string
	for _, v := range elements(array) {
		c, err := Canonical(v)
		if err != nil {
			return nil, err
		}
		out = append(out, string(c))
	}
	return out, nil
}

// checkResult refuses an action that no longer has its phase's form.
func checkResult(p Phase, out jsontext.Value, e Effect) error {
	if at := tooDeep(out, MaxInputDepth); at >= 0 {
		return effectError(ErrTooLarge, e, "objects and arrays would nest deeper than %d", MaxInputDepth)
	}
	if _, err := DecodeAction(p, out); err != nil {
		return invalid(e, err)
	}
	return nil
}
