package kernel

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/shell"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// hide notes the words that a person decides by but cannot read in an ask: a value that was
// redacted somewhere else in the action stands in a program, a path, a host or a ref, too. A
// word that is a secret by itself is redacted there in any case, and hides nothing that a person
// would decide by; so hide compares the two.
func (i *invocation) hide(item *approvals.Item, verdict *phases.Verdict) {
	if item.Action == nil {
		return
	}
	alone, err := i.kernel.redactAction(verdict.Action)
	if err != nil {
		item.Hidden = []string{"/action"}
		return
	}
	for _, ptr := range hiddenWords(alone, item.Action) {
		shown, err := i.redactor().Text(ptr) // the name of a member may be the secret
		if err != nil {
			shown = "/action"
		}
		item.Hidden = append(item.Hidden, shown)
	}
	raw, err := json.Marshal(verdict.Scopes)
	if err == nil {
		raw, _, err = i.redactor().JSON(raw)
	}
	var scopes phases.Scopes
	if err == nil {
		err = json.Unmarshal(raw, &scopes)
	}
	if err != nil {
		item.Hidden = append(item.Hidden, "/scopes")
		item.Scopes = nil
		return
	}
	if item.Scopes = &scopes; !scopes.Contains(verdict.Scopes) || !verdict.Scopes.Contains(scopes) {
		item.Hidden = append(item.Hidden, "/scopes")
	}
}

// hiddenWords returns pointers to strings of the action that say less in shown than
// in alone, where a person decides by them.
func hiddenWords(alone, shown jsontext.Value) []string {
	found := map[string]bool{}
	compareWords(nil, alone, shown, func(at *phases.Place, full, less string) {
		switch what := decides(at); {
		case what == "command" && slices.Equal(commandWords(full), commandWords(less)):
		case what != "":
			found["/action"+at.Pointer()] = true
		}
	})
	return slices.Sorted(maps.Keys(found))
}

// compareWords calls differ for each string of full that is another one in less, or none there.
func compareWords(at *phases.Place, full, less jsontext.Value, differ func(at *phases.Place, full, less string)) {
	if bytes.Equal(full, less) {
		return
	}
	switch full.Kind() {
	case '"':
		if a, b := wordOf(full), wordOf(less); a != b {
			differ(at, a, b)
		}
	case '{':
		var members, others map[string]jsontext.Value
		if json.Unmarshal(full, &members) == nil {
			_ = json.Unmarshal(less, &others) // what is no object has no members
			for name, m := range members {
				compareWords(at.Member(name), m, others[name], differ)
			}
		}
	case '[':
		var list, others []jsontext.Value
		if json.Unmarshal(full, &list) == nil {
			_ = json.Unmarshal(less, &others)
			for n, e := range list {
				var other jsontext.Value
				if n < len(others) {
					other = others[n]
				}
				compareWords(at.Element(n), e, other, differ)
			}
		}
	}
}

// wordOf returns a string of JSON, as much as can be read if it is malformed, or "" for another value.
func wordOf(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	s, _ := jsontext.AppendUnquote(nil, v)
	return string(s)
}

// decides says what a string is for a person by the name of its member, or of the
// list that it is in: a command, another word to decide by, or "" for data.
func decides(at *phases.Place) string {
	if phases.RunsArgument(at.Name()) {
		return "command"
	}
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(at.Name()))
	switch name {
	case "tool", "server", "program", "executable", "binary", "argv", "agent", "parent", "model", "provider", "machine",
		"from", "to":
		return "name"
	}
	for _, end := range []string{"path", "paths", "file", "files", "filename", "dir", "directory", "cwd", "workdir",
		"folder", "root",
		"url", "urls", "uri", "uris", "host", "hosts", "hostname", "domain", "address", "endpoint",
		"ref", "refs", "refspec", "branch", "tag", "commit", "remote", "repo", "repository",
		"target", "targets", "destination", "dest", "source", "src", "recipient", "bucket", "database", "table", "image",
		"container", "package", "resource"} {
		if strings.HasSuffix(name, end) {
			return "place"
		}
	}
	return ""
}

// commandWords returns the words of a command that a person decides by: programs, their
// arguments, files, and where they run. What a command only prints or reads from the
// text is data, and so are the values of variables. A text that is no shell is one word.
func commandWords(text string) []string {
	reply, _ := shell.Parse(text)
	if !reply.OK || reply.Truncated {
		return []string{text}
	}
	var out []string
	for n := range reply.Commands {
		command := &reply.Commands[n]
		out = append(out, command.Name)
		for k, w := range command.Words {
			if k > 0 && (command.Name == "echo" || command.Name == "printf") {
				break
			}
			out = append(out, w.Text)
		}
		for _, r := range command.Redirects {
			if !strings.HasPrefix(r.Op, "<<") {
				out = append(out, r.Op, r.Target.Text)
			}
		}
		if command.CWD != nil {
			out = append(out, command.CWD.Text)
		}
	}
	for _, u := range reply.Unknown {
		out = append(out, u.Raw)
	}
	return out
}

// noteHidden tells the requester why no person will approve this.
func noteHidden(v *phases.Verdict, it *approvals.Item) {
	if len(it.Hidden) > 0 {
		v.Notes = append(v.Notes, "argument hidden: a secret of this action stands in "+strings.Join(it.Hidden, ", ")+
			"; this can only be denied. Ask without repeating the secret there")
	}
}
