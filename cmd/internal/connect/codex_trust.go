package connect

import (
	"fmt"
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// codexTrust returns what config.toml becomes: with these entries of the stored trust and no other
// of belay's; none disconnects.
func codexTrust(src []byte, entries []trust) ([]byte, error) {
	before, err := readTOML(src)
	if err != nil {
		return nil, err
	}
	base := withoutOwn(src)
	rest, err := readTOML(base)
	if err != nil {
		return nil, byHand("belay's entries cannot be taken out and leave the rest as it is: " + err.Error())
	}
	if !sameTOML(minusTrust(before, ownKeys(src)), rest) {
		return nil, byHand("the tables that are marked as belay's hold other members")
	}
	if len(entries) == 0 {
		return base, nil
	}
	if on, is := dig(rest, "features", "hooks").(bool); is && !on {
		return nil, &Error{Reason: "features.hooks is false: Codex starts no hooks",
			Advice: "Take it out; belay changes only its own entries.", Err: ErrConflict}
	}
	var tables []string
	for _, e := range entries {
		switch state := dig(rest, "hooks", "state", e.key).(type) {
		case nil:
			key, err := jsontext.AppendQuote(nil, e.key)
			if err != nil {
				return nil, fmt.Errorf("connect: %w", err)
			}
			tables = append(tables, fmt.Sprintf("[hooks.state.%s]\ntrusted_hash = %q", key, e.hash))
		case map[string]any:
			if on, is := state["enabled"].(bool); is && !on {
				return nil, &Error{Reason: "hooks.state." + e.key + " says enabled = false",
					Advice: "Take that table out; belay changes only its own entries.", Err: ErrConflict}
			}
			if state["trusted_hash"] != e.hash {
				return nil, &Error{Reason: "hooks.state." + e.key + " holds the trust of another hook",
					Advice: "Take that table out; belay changes only its own entries.", Err: ErrConflict}
			}
		default:
			return nil, byHand("hooks.state." + e.key + " is not a table")
		}
	}
	out := withTables(base, tables)
	after, err := readTOML(out)
	if err != nil {
		return nil, byHand("a table cannot be added: " + err.Error())
	}
	if !sameTOML(minusTrust(after, ownKeys(out)), rest) {
		return nil, byHand("a table cannot be added and leave the rest as it is")
	}
	if string(out) != string(src) && sameText(src, out) {
		return src, nil
	}
	return out, nil
}

// sameText reports whether both documents hold the same entries of belay's; then the one that is
// there stays, wherever its tables stand.
func sameText(a, b []byte) bool {
	x, err := readTOML(a)
	if err != nil {
		return false
	}
	y, err := readTOML(b)
	return err == nil && sameTOML(x, y)
}

// ownKeys returns the keys of the trust that belay's tables hold.
func ownKeys(src []byte) (keys []string) {
	for _, o := range ownText(src) {
		doc, err := readTOML(src[o.start:o.end])
		if err != nil {
			continue
		}
		state, _ := dig(doc, "hooks", "state").(map[string]any)
		for k := range maps.Keys(state) {
			keys = append(keys, k)
		}
	}
	return keys
}

// minusTrust is a copy of the document without these entries of the trust.
func minusTrust(doc map[string]any, keys []string) map[string]any {
	hooks, _ := doc["hooks"].(map[string]any)
	state, _ := hooks["state"].(map[string]any)
	if state == nil {
		return doc
	}
	doc, hooks, state = maps.Clone(doc), maps.Clone(hooks), maps.Clone(state)
	for _, k := range keys {
		delete(state, k)
	}
	hooks["state"], doc["hooks"] = state, hooks
	return doc
}

func byHand(reason string) error {
	return &Error{Reason: strings.TrimSpace(reason), Advice: "Edit the file by hand: --print prints belay's entries.",
		Err: ErrConflict}
}

// keptTrust returns the entries of belay's that are for another hooks.json than the one at path.
func keptTrust(src []byte, path string) (out []trust, err error) {
	doc, err := readTOML(src)
	if err != nil {
		return nil, err
	}
	for _, key := range ownKeys(src) {
		if strings.HasPrefix(key, path+":") {
			continue
		}
		if hash, is := dig(doc, "hooks", "state", key, "trusted_hash").(string); is {
			out = append(out, trust{key: key, hash: hash})
		}
	}
	return out, nil
}
