package claudecode

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// Claude Code takes a replaced tool output only in the shape of the tool's own
// response, and shows the original otherwise. So a replacement is built from the
// response that came, and one that a hook made is compared with it.

// hide returns the response with every text replaced by the reason. Numbers,
// booleans and names of members stay: they are the shape. So do words of the
// protocol that say which of several shapes it is (see isTag), which a model or
// a tool's output cannot choose freely.
func hide(v jsontext.Value, reason string) jsontext.Value {
	switch v.Kind() {
	case '"':
		return payload.Quote(reason)
	case '{':
		o := new(payload.Object)
		for _, f := range payload.Fields(v) {
			if isTag(f.Name, f.Value) {
				o.Raw(f.Name, f.Value)
			} else {
				o.Raw(f.Name, hide(f.Value, reason))
			}
		}
		return o.Value()
	case '[':
		out := jsontext.Value{'['}
		for i, f := range payload.Fields(v) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, hide(f.Value, reason)...)
		}
		return append(out, ']')
	}
	return bytes.TrimSpace(v)
}

// hasText reports whether hide would replace anything.
func hasText(v jsontext.Value) bool {
	switch v.Kind() {
	case '"':
		return true
	case '{', '[':
		return slices.ContainsFunc(payload.Fields(v), func(f payload.Field) bool {
			return !isTag(f.Name, f.Value) && hasText(f.Value)
		})
	}
	return false
}

// isTag reports whether the member only says which shape the object has: one of
// a few words under type or status. Replacing it would give the object a shape
// that the tool does not have, and the original would be shown.
func isTag(name string, v jsontext.Value) bool {
	s, ok := payload.StringOf(v)
	if !ok {
		return false
	}
	var words []string
	switch name {
	case "type":
		words = []string{
			"text", "image", "audio", "resource", "resource_link", "document", // content parts
			"notebook", "pdf", "parts", "file_unchanged", "create", "update", // Read, Write
			"image/png", "image/jpeg", "image/gif", "image/webp", // the media type of an image
		}
	case "status":
		words = []string{"async_launched", "remote_launched", "completed", "running", "pending", "in_progress", "failed",
			"killed", "refreshed", "error", "not_connected", "modified", "added"}
	case "mode": // of Grep
		words = []string{"content", "files_with_matches", "count"}
	case "cell_type", "cellType":
		words = []string{"code", "markdown", "raw"}
	case "mediaType":
		words = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	case "kind", "action": // of a git operation, a worktree
		words = []string{"committed", "amended", "cherry-picked", "merged", "rebased", "created", "edited", "commented",
			"closed", "reopened", "ready", "draft", "auto-merge-enabled", "auto-merge-disabled", "keep", "remove"}
	}
	return slices.Contains(words, s)
}

// sameShape reports whether b has the shape of a: the same members with values
// of the same kind, at every depth, and the same tags. An array may have another
// length if each element has the shape of an element of a. Null in a fits only
// null: what else the tool may put there is not known.
func sameShape(a, b jsontext.Value) bool {
	if kindClass(a) != kindClass(b) {
		return false
	}
	switch a.Kind() {
	case '{':
		fa, fb := payload.Fields(a), payload.Fields(b)
		if len(fa) != len(fb) {
			return false
		}
		for _, f := range fa {
			i := slices.IndexFunc(fb, func(g payload.Field) bool { return g.Name == f.Name })
			if i < 0 || !sameShape(f.Value, fb[i].Value) {
				return false
			}
			if tagA, tagB := isTag(f.Name, f.Value), isTag(f.Name, fb[i].Value); tagA || tagB {
				sa, _ := payload.StringOf(f.Value)
				if sb, _ := payload.StringOf(fb[i].Value); sa != sb {
					return false
				}
			}
		}
	case '[':
		known := distinct(payload.Fields(a))
		if len(known) > maxShapes {
			return false
		}
		for _, g := range distinct(payload.Fields(b)) {
			if !slices.ContainsFunc(known, func(f jsontext.Value) bool { return sameShape(f, g) }) {
				return false
			}
		}
	}
	return true
}

// kindClass is the kind, with one class for both booleans.
func kindClass(v jsontext.Value) jsontext.Kind {
	if k := v.Kind(); k == 't' {
		return 'f'
	} else {
		return k
	}
}

// maxShapes bounds the shapes among the elements of one array, because each
// element of the replacement is compared with all of them.
const maxShapes = 16

// distinct returns one element for each shape.
func distinct(elements []payload.Field) []jsontext.Value {
	seen := map[string]bool{}
	var out []jsontext.Value
	for _, e := range elements {
		if key := string(outline(nil, e.Value)); !seen[key] {
			seen[key] = true
			out = append(out, e.Value)
		}
	}
	return out
}

// outline writes the shape of a value: kinds and member names, tags as they are.
func outline(out []byte, v jsontext.Value) []byte {
	switch k := kindClass(v); k {
	case '{':
		out = append(out, '{')
		for _, f := range payload.Fields(v) {
			out = append(out, payload.Quote(f.Name)...)
			if isTag(f.Name, f.Value) {
				out = append(out, f.Value...)
			} else {
				out = outline(out, f.Value)
			}
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for _, e := range distinct(payload.Fields(v)) {
			out = outline(out, e)
		}
		return append(out, ']')
	default:
		return append(out, byte(k))
	}
}
