package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) assign(e *env, a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	old := e.vars[name]
	switch {
	case len(e.vars) >= maxVars:
		w.reply.Truncated = true
		e.forget(name)
	case a.Index != nil:
		e.forget(name)
	case a.Array != nil:
		var items []string
		var from []int
		known := !a.Append || old.known
		glob := false
		if a.Append {
			items = append(items, old.v.List...)
		}
		for _, el := range a.Array.Elems {
			if el.Index != nil || el.Value == nil {
				known = false
				break
			}
			got, _ := w.field(e, el.Value) // what leaves the number open is not known either
			for _, g := range got {
				items, known, glob = append(items, g.Text), known && g.Known, glob || g.Glob
				from = union(from, g.From)
			}
		}
		v := list(items)
		v.known, v.glob = known, glob
		if v.size() > MaxWordText {
			v.known = false
		}
		if !v.known {
			v.from = union(old.from, from)
		}
		e.set(name, v)
	case a.Naked:
	default:
		value := w.literal(e, a.Value)
		if a.Append {
			value.Text = old.v.Str + value.Text
			value.Known = value.Known && old.known
		}
		switch old.fold {
		case 'l':
			value.Text, value.holes = strings.ToLower(value.Text), strings.ToLower(value.holes)
		case 'u':
			value.Text, value.holes = strings.ToUpper(value.Text), strings.ToUpper(value.holes)
		}
		v := text(value.Text)
		v.fold = old.fold
		v.known, v.glob = value.Known && len(value.Text) <= MaxWordText, value.Glob
		if !v.known {
			v.from = value.From
			if a.Append {
				v.from = union(old.from, v.from)
			} else {
				v.holes = value.holes
			}
		}
		e.set(name, v)
	}
}

func (w *walker) declare(e *env, x *syntax.DeclClause, c ctx) {
	words := []Word{{Text: x.Variant.Value, Known: true}}
	reference := x.Variant.Value == "nameref"
	fold := byte(0)
	for _, a := range x.Args {
		reference = reference || a.Name == nil && a.Value != nil && isReference(a.Value.Lit())
		if reference && a.Name != nil { // it stands for another variable from now on
			defer e.forget(a.Name.Value)
		}
		w.substitutions(e, a, c)
		if a.Name == nil && a.Value != nil {
			fold = foldOf(a.Value.Lit(), fold)
		} else if a.Name != nil && fold != 0 {
			v := e.vars[a.Name.Value]
			v.fold = fold
			e.set(a.Name.Value, v)
		}
		if a.Name != nil && !a.Naked {
			w.assign(e, a)
			v := e.vars[a.Name.Value]
			words = append(words, Word{Text: a.Name.Value + "=" + v.v.Str, Known: v.known})
		} else if a.Value != nil {
			words = append(words, w.literal(e, a.Value))
		} else if a.Name != nil {
			words = append(words, Word{Text: a.Name.Value, Known: true})
		}
	}
	w.run(e, words, nil, nil, c, w.raw(x))
	w.exported(e, words, c, w.raw(x))
}

// foldOf returns the case that an option of declare gives to what is assigned, and the one of the options before it
// otherwise.
func foldOf(option string, before byte) byte {
	if len(option) < 2 || option[0] != '-' && option[0] != '+' {
		return before
	}
	for _, c := range []byte("lu") {
		switch has := strings.IndexByte(option, c) > 0; {
		case has && option[0] == '-':
			return c
		case has && before == c:
			return 0
		}
	}
	return before
}

// isReference reports the option with which a name stands for another variable.
func isReference(option string) bool {
	return strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.Contains(option, "n")
}

// exported walks what programs run of the variables that they get from now on.
func (w *walker) exported(e *env, words []Word, c ctx, raw string) {
	exports, i := words[0].Text == "export", len(w.reply.Commands)-1
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word.Text, "=")
		if strings.HasPrefix(word.Text, "-") {
			exports = exports || strings.Contains(word.Text, "x")
		} else if ok && (exports || forPrompt(name)) {
			w.environment(e, []Assign{{Name: name, Value: Word{Text: value, Known: word.Known}}}, c, raw, i)
		}
	}
}
