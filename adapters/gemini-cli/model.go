package geminicli

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Gemini CLI shows hooks a request and an answer as texts: images, calls of tools and their results
// stand in neither.

// provider is where Gemini CLI sends its requests, whatever host stands for it.
const provider = "google"

// maxMessages bounds the messages of one request.
const maxMessages = 8192

// request is the action of a request that is about to be sent.
func request(p *payload.Payload) *payload.Object {
	req := p.Container("llm_request", '{')
	if p.Err() != nil {
		return new(payload.Object)
	}
	r := payload.Of(p.Event(), req)
	o := new(payload.Object).Str("provider", provider).Opt("model", r.OptStr("model"))
	messages := r.Container("messages", '[')
	list := payload.Fields(messages)
	for _, m := range list {
		if m.Value.Kind() != '{' {
			p.Fail("llm_request", "a message is not an object")
		}
		c := payload.Of(p.Event(), m.Value)
		c.Name("role")
		c.Str("content")
		if c.Err() != nil {
			p.Fail("llm_request", "a message has no role or no text")
		}
	}
	if len(list) > maxMessages {
		p.Fail("llm_request", "a request has more than %d messages", maxMessages)
	}
	if r.Err() != nil {
		p.Fail("llm_request", "the model or the messages are missing or of another type")
		return new(payload.Object)
	}
	o.Raw("messages", messages)
	if config, ok := r.Optional("config"); ok {
		if config.Kind() != '{' {
			p.Fail("llm_request", "config is not an object")
		}
		o.Raw("params", config)
	}
	return o
}

// answerTo is the action of one chunk of the model's answer: the texts of all candidates.
func answerTo(p *payload.Payload) *payload.Object {
	response := p.Container("llm_response", '{')
	if p.Err() != nil {
		return new(payload.Object)
	}
	r := payload.Of(p.Event(), response)
	text := r.OptStr("text")
	candidates, ok := r.Optional("candidates")
	if ok && candidates.Kind() != '[' {
		p.Fail("llm_response", "candidates is not an array")
	}
	if r.Err() != nil {
		p.Fail("llm_response", "text is not a string")
	}
	parts, stop, fault := candidateTexts(p.Event(), candidates)
	if fault != "" {
		p.Fail("llm_response", "%s", fault)
	}
	// text leaves the model's thoughts out, which parts have; without parts it is all there is.
	if all := strings.Join(parts, ""); all != "" {
		text = all
	}
	o := new(payload.Object).Str("kind", "chunk").Str("text", text).Opt("stop_reason", stop)
	if usage, ok := r.Optional("usageMetadata"); ok && usage.Kind() == '{' {
		o.Raw("usage", usage)
	}
	return o
}

// candidateTexts returns the texts of all candidates, and why the first one ended.
func candidateTexts(event string, candidates jsontext.Value) (texts []string, stop, fault string) {
	for i, f := range payload.Fields(candidates) {
		if f.Value.Kind() != '{' {
			return nil, "", "a candidate is not an object"
		}
		c := payload.Of(event, f.Value)
		if i == 0 {
			stop = c.OptStr("finishReason")
		}
		content, ok := c.Optional("content")
		if !ok {
			continue
		}
		parts, ok := phases.Get(content, "/parts")
		if !ok || parts.Kind() == 'n' {
			continue
		}
		if content.Kind() != '{' || parts.Kind() != '[' {
			return nil, "", "the parts of a candidate are not an array"
		}
		for _, part := range payload.Fields(parts) {
			text, ok := payload.StringOf(part.Value)
			if !ok {
				return nil, "", "a part of a candidate is not a string"
			}
			texts = append(texts, text)
		}
		if c.Err() != nil {
			return nil, "", "a candidate has a member of another type"
		}
	}
	return texts, stop, ""
}

// changedRequest returns the members of the request that differ, in the form in which Gemini CLI
// puts them over its own. It replaces the text of each message in turn and keeps what has no text,
// so that messages have to be the same ones in the same order. why is not "" when they are not.
func changedRequest(p *payload.Payload, final jsontext.Value, changed []string) (out jsontext.Value, why string) {
	first, _ := p.Find("llm_request")
	var messages, model, params bool
	for _, ptr := range changed {
		switch {
		case phases.Covers("/messages", ptr):
			messages = true
		case phases.Covers("/model", ptr):
			model = true
		default:
			params = true
		}
	}
	o := new(payload.Object)
	if model {
		name, ok := phases.GetString(final, "/model")
		if !ok || name == "" {
			return nil, "a hook took the model's name away"
		}
		o.Str("model", name)
	}
	if messages {
		was, _ := phases.Get(first, "/messages")
		is, _ := phases.Get(final, "/messages")
		if why := sameMessages(payload.Fields(was), payload.Fields(is)); why != "" {
			return nil, why
		}
		o.Raw("messages", is)
	}
	if params {
		was, _ := phases.Get(first, "/config")
		config := new(payload.Object)
		for _, name := range []string{"temperature", "maxOutputTokens", "topP", "topK"} {
			_, had := phases.Get(was, "/"+name)
			v, ok := phases.Get(final, "/params/"+name)
			switch {
			case ok && v.Kind() == '0':
				config.Raw(name, v)
			case ok || had:
				return nil, "a hook made " + name + " something else than a number"
			}
		}
		o.Raw("config", config.Value())
	}
	return o.Value(), ""
}

// sameMessages reports why the messages are not the former ones with other texts.
func sameMessages(was, is []payload.Field) string {
	if len(was) != len(is) {
		return "a hook added or removed messages, which Gemini CLI cannot carry"
	}
	for i := range was {
		a, b := payload.Fields(was[i].Value), payload.Fields(is[i].Value)
		role, _ := phases.GetString(was[i].Value, "/role")
		now, _ := phases.GetString(is[i].Value, "/role")
		if _, ok := phases.GetString(is[i].Value, "/content"); !ok || role != now || len(a) != len(b) {
			return "a hook made a message something else than a text of the same role"
		}
	}
	return ""
}

// changedAnswer is the chunk with another text. Its calls of tools are gone: no hook sees them, and
// the client takes texts back alone.
func changedAnswer(p *payload.Payload, text string) jsontext.Value {
	response, _ := p.Find("llm_response")
	content := new(payload.Object).Str("role", "model").Raw("parts", append(append([]byte{'['},
		payload.Quote(text)...), ']'))
	candidate := new(payload.Object).Raw("content", content.Value())
	if reason, ok := phases.GetString(response, "/candidates/0/finishReason"); ok {
		candidate.Str("finishReason", reason)
	}
	candidate.Raw("index", []byte("0"))
	o := new(payload.Object).Str("text", text).Raw("candidates", append(append([]byte{'['},
		candidate.Value()...), ']'))
	if usage, ok := phases.Get(response, "/usageMetadata"); ok && usage.Kind() == '{' {
		o.Raw("usageMetadata", usage)
	}
	return o.Value()
}
