package claudecode

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// An elicitation is a question that an MCP server puts to the person, and the
// person's answer on its way back. Both read as a request that is about to be
// sent: the provider is mcp:SERVER, the text stands in messages, so that what
// judges text for a model judges these too.

// elicitation: the question is one message of the server.
func (p *payload) elicitation() jsontext.Value {
	content := quote(p.str("message"))
	return p.request("assistant", content)
}

// elicitationResult: the answer is one message of the person with a part for
// each entry of the form: {"type":"text"} for strings, {"type":"value"} for others.
func (p *payload) elicitationResult() jsontext.Value {
	p.name("action")
	p.unread("action")
	content, ok := p.optional("content")
	if !ok {
		return p.request("user", []byte("[]"))
	}
	if content.Kind() != '{' {
		p.fail("content", "a member is not an object")
		return nil
	}
	return p.request("user", parts(content))
}

// request builds the action; what the event has besides goes to params.
func (p *payload) request(role string, content []byte) jsontext.Value {
	server := p.name("mcp_server_name")
	params := new(object)
	for _, m := range p.members {
		if !m.used && !envelopeMember(m.name) {
			m.used = true
			params.raw(m.name, m.value)
		}
	}
	message := new(object).str("role", role).raw("content", content).value()
	return new(object).str("provider", "mcp:"+server).
		raw("messages", append(append([]byte{'['}, message...), ']')).raw("params", params.value()).value()
}

// parts turns the entries of a form into message parts.
func parts(content jsontext.Value) []byte {
	out := []byte{'['}
	for i, f := range fields(content) {
		if i > 0 {
			out = append(out, ',')
		}
		part := new(object)
		if f.value.Kind() == '"' {
			part.str("type", "text").str("name", f.name).raw("text", f.value)
		} else {
			part.str("type", "value").str("name", f.name).raw("value", f.value)
		}
		out = append(out, part.value()...)
	}
	return append(out, ']')
}

var errParts = errors.New("claudecode: the parts are not those of the form")

// unparts is the reverse of parts for a final action: the same entries in the
// same order, texts still texts; anything else is not a form any more.
func unparts(original, final jsontext.Value) (jsontext.Value, error) {
	form, got := fields(original), fields(final)
	if final.Kind() != '[' || len(form) != len(got) {
		return nil, errParts
	}
	out := new(object)
	for i, f := range form {
		key, kind := "value", jsontext.Kind(0)
		if f.value.Kind() == '"' {
			key, kind = "text", '"'
		}
		name, _ := phases.GetString(got[i].value, "/name")
		v, ok := phases.Get(got[i].value, "/"+key)
		if !ok || name != f.name || (kind != 0 && v.Kind() != kind) || (kind == 0 && v.Kind() == '"') {
			return nil, errParts
		}
		out.raw(f.name, v)
	}
	return out.value(), nil
}
