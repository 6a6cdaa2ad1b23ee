package claudecode

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// An elicitation is a question that an MCP server puts to the person, and the
// person's answer on its way back. Both read as a request that is about to be
// sent: the provider is mcp:SERVER, the text stands in messages, so that what
// judges text for a model judges these too.

// elicitation: the question is one message of the server.
func (p *received) elicitation() jsontext.Value {
	content := payload.Quote(p.Str("message"))
	return p.request("assistant", content)
}

// elicitationResult: the answer is one message of the person with a part for
// each entry of the form: {"type":"text"} for strings, {"type":"value"} for others.
func (p *received) elicitationResult() jsontext.Value {
	p.Name("action")
	p.Unread("action")
	content, ok := p.Optional("content")
	if !ok {
		return p.request("user", []byte("[]"))
	}
	if content.Kind() != '{' {
		p.Fail("content", "a member is not an object")
		return nil
	}
	return p.request("user", parts(content))
}

// request builds the action; what the event has besides goes to params.
func (p *received) request(role string, content []byte) jsontext.Value {
	server := p.Name("mcp_server_name")
	params := p.TakeUnused(func(name string) bool { return !envelopeMember(name) })
	message := new(payload.Object).Str("role", role).Raw("content", content).Value()
	return new(payload.Object).Str("provider", "mcp:"+server).
		Raw("messages", append(append([]byte{'['}, message...), ']')).Raw("params", params).Value()
}

// parts turns the entries of a form into message parts.
func parts(content jsontext.Value) []byte {
	out := []byte{'['}
	for i, f := range payload.Fields(content) {
		if i > 0 {
			out = append(out, ',')
		}
		part := new(payload.Object)
		if f.Value.Kind() == '"' {
			part.Str("type", "text").Str("name", f.Name).Raw("text", f.Value)
		} else {
			part.Str("type", "value").Str("name", f.Name).Raw("value", f.Value)
		}
		out = append(out, part.Value()...)
	}
	return append(out, ']')
}

var errParts = errors.New("claudecode: the parts are not those of the form")

// unparts is the reverse of parts for a final action: the same entries in the
// same order, texts still texts; anything else is not a form any more.
func unparts(original, final jsontext.Value) (jsontext.Value, error) {
	form, got := payload.Fields(original), payload.Fields(final)
	if final.Kind() != '[' || len(form) != len(got) {
		return nil, errParts
	}
	out := new(payload.Object)
	for i, f := range form {
		key, kind := "value", jsontext.Kind(0)
		if f.Value.Kind() == '"' {
			key, kind = "text", '"'
		}
		name, _ := phases.GetString(got[i].Value, "/name")
		v, ok := phases.Get(got[i].Value, "/"+key)
		if !ok || name != f.Name || (kind != 0 && v.Kind() != kind) || (kind == 0 && v.Kind() == '"') {
			return nil, errParts
		}
		out.Raw(f.Name, v)
	}
	return out.Value(), nil
}
