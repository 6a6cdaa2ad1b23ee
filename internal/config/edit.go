package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/near"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/yamledit"
	"github.com/belay-hooks/belay/phases"
)

// Empty is the configuration that `belay init` starts from when no hook is wanted.
const Empty = "version: " + Version + "\nhooks: []\n"

// The edits below change one entry and leave every other byte of the file as it is.
// An entry that is written in a way in which that cannot be done is refused with an
// error that says "edit by hand". What comes out has been parsed and checked.

// AddBinding returns the file with the binding appended to its hooks.
func AddBinding(src []byte, b Binding) ([]byte, error) {
	return edit(src, func(f *File) ([]byte, error) {
		if slices.ContainsFunc(f.Hooks, func(h Binding) bool { return h.Name == b.Name }) {
			return nil, &Error{Reason: fmt.Sprintf("a hook is already bound as %q", b.Name), Cause: ErrBound}
		}
		if b.Capabilities == nil {
			b.Capabilities = []string{}
		}
		j, err := json.Marshal(b)
		if err != nil {
			return nil, &Error{Reason: "the binding cannot be written", Cause: err}
		}
		if _, err := strictyaml.Parse(j); err != nil {
			return nil, wrap(err)
		}
		return yamledit.Append(src, yamledit.Path{"hooks"}, j)
	})
}

// SetDisabled returns the file with the named binding disabled or enabled.
func SetDisabled(src []byte, name string, disabled bool) ([]byte, error) {
	return editBinding(src, name, func(h *Binding, path yamledit.Path) ([]byte, error) {
		path = append(path, "disabled")
		switch {
		case disabled:
			return yamledit.Set(src, path, jsontext.Value("true"))
		case !h.Disabled:
			return src, nil
		}
		out, err := yamledit.Remove(src, path)
		if errors.Is(err, yamledit.ErrByHand) { // it shares its line with something
			out, err = yamledit.Set(src, path, jsontext.Value("false"))
		}
		return out, err
	})
}

// SetMode returns the file with the named binding enforced or observed. A binding that has the mode
// already, be it by default, stays as it is written.
func SetMode(src []byte, name string, mode phases.Mode) ([]byte, error) {
	return editBinding(src, name, func(h *Binding, path yamledit.Path) ([]byte, error) {
		if cmp.Or(h.Mode, phases.Enforce) == mode {
			return src, nil
		}
		return yamledit.Set(src, append(path, "mode"), text(string(mode)))
	})
}

// AddCapabilities returns the file with capabilities added to those that the named
// binding is allowed. Those that it has already are left out.
func AddCapabilities(src []byte, name string, capabilities ...string) ([]byte, error) {
	return editBinding(src, name, func(h *Binding, path yamledit.Path) ([]byte, error) {
		var add []jsontext.Value
		for _, c := range capabilities {
			if !slices.Contains(h.Capabilities, c) {
				add = append(add, text(c))
			}
		}
		if len(add) == 0 {
			return src, nil
		}
		return yamledit.Append(src, append(path, "capabilities"), add...)
	})
}

// RemoveBinding returns the file without the named binding.
func RemoveBinding(src []byte, name string) ([]byte, error) {
	return editBinding(src, name, func(_ *Binding, path yamledit.Path) ([]byte, error) {
		return yamledit.Remove(src, path)
	})
}

// editBinding edits the entry of a binding: change gets it, and where it is.
func editBinding(src []byte, name string, change func(*Binding, yamledit.Path) ([]byte, error)) ([]byte, error) {
	return edit(src, func(f *File) ([]byte, error) {
		i := slices.IndexFunc(f.Hooks, func(h Binding) bool { return h.Name == name })
		if i < 0 {
			return nil, &Error{Reason: notBound(name, f)}
		}
		return change(&f.Hooks[i], yamledit.Path{"hooks", i})
	})
}

// notBound says that there is no such binding, and which may have been meant.
func notBound(name string, f *File) string {
	names := make([]string, len(f.Hooks))
	for i := range f.Hooks {
		names[i] = f.Hooks[i].Name
	}
	text := fmt.Sprintf("no hook is bound as %q", name)
	if question := near.Question(name, names); question != "" {
		return text + "; " + question
	}
	return text
}

// edit changes a file that is valid, into one that is.
func edit(src []byte, change func(*File) ([]byte, error)) ([]byte, error) {
	f, err := Parse(src)
	if err != nil {
		return nil, err
	}
	out, err := change(f)
	if err != nil {
		return nil, editError(err)
	}
	if _, err := Parse(out); err != nil {
		return nil, err
	}
	return out, nil
}

// editError makes an error of an edit one of this package.
func editError(err error) error {
	if errors.Is(err, ErrConfig) {
		return err
	}
	return &Error{Reason: err.Error(), Cause: err}
}

// text writes a text as JSON.
func text(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, s) // fails for bad UTF-8, and still writes a text
	return b
}
