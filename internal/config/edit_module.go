package config

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/yamledit"
)

// SetModule returns the file in which the named binding runs another module, with exactly
// these capabilities. Every other member of the binding stays, and so does its place. A digest
// beside a path is taken out: module names the new file by its digest, or a hook that comes with
// belay. left are capabilities that are written in a way in which they cannot be taken out.
func SetModule(src []byte, name, module string, capabilities []string) (out []byte, left []string, err error) {
	out, err = editBinding(src, name, func(h *Binding, path yamledit.Path) ([]byte, error) {
		out, err := yamledit.Set(src, member(path, "module"), text(module))
		if err == nil && h.Digest != "" {
			out, err = yamledit.Remove(out, member(path, "digest"))
		}
		if err != nil {
			return nil, err
		}
		var add []jsontext.Value
		for _, c := range capabilities {
			if !slices.Contains(h.Capabilities, c) {
				add = append(add, text(c))
			}
		}
		if len(add) > 0 {
			if out, err = yamledit.Append(out, member(path, "capabilities"), add...); err != nil {
				return nil, err
			}
		}
		for i, c := range slices.Backward(h.Capabilities) {
			if slices.Contains(capabilities, c) {
				continue
			}
			less, err := yamledit.Remove(out, member(path, "capabilities", i))
			if errors.Is(err, yamledit.ErrByHand) {
				left = append(left, c)
				continue
			}
			if err != nil {
				return nil, err
			}
			out = less
		}
		return out, nil
	})
	return out, left, err
}

// member is the path of a member below another path, which it leaves as it is.
func member(path yamledit.Path, more ...any) yamledit.Path {
	return append(slices.Clone(path), more...)
}
