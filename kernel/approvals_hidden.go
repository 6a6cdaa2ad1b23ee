package kernel

import (
	"slices"
	"strconv"
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
	var out []string
	full := leaves(alone)
	less := leaves(shown)
	for ptr, text := range full {
		if less[ptr] == text {
			continue
		}
		switch what := decides(ptr); {
		case what == "command" && slices.Equal(commandWords(text), commandWords(less[ptr])):
		case what != "":
			out = append(out, "/action"+ptr)
		}
	}
	slices.Sort(out)
	return out
}

// leaves returns the strings of a document by their pointers.
func leaves(doc jsontext.Value) map[string]string {
	out := map[string]string{}
	var walk func(ptr string, v jsontext.Value)
	walk = func(ptr string, value jsontext.Value) {
		switch value.Kind() {
		case '"':
			s, _ := jsontext.AppendUnquote(nil, value) // as much as can be read, if the string is malformed
			out[ptr] = string(s)
		case '{':
			var members map[string]jsontext.Value
			if json.Unmarshal(value, &members) == nil {
				for name, m := range members {
					walk(phases.Join(ptr, name), m)
				}
			}
		case '[':
			var list []jsontext.Value
			if json.Unmarshal(value, &list) == nil {
				for n, e := range list {
					walk(phases.Join(ptr, strconv.Itoa(n)), e)
				}
			}
		}
	}
	walk("", doc)
	return out
}

// decides says what a string is for a person by the name of its member, or of the
// list that it is in: a command, another word to decide by, or "" for data.
func decides(ptr string) string {
	tokens := strings.Split(ptr, "/")
	name := tokens[len(tokens)-1]
	for n := len(tokens) - 1; n > 0 && strings.Trim(name, "0123456789") == ""; n-- {
		name = tokens[n-1]
	}
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	switch name {
	case "command", "cmd", "script", "shellcommand", "commandline":
		return "command"
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
