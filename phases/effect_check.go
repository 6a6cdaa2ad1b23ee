package phases

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// checkPass refuses what a hook may not do in its turn: validators judge, and
// only mutators change.
func checkPass(p Phase, pass Pass, by Actor, effect Effect) error {
	changes := effect.Kind == EffectRewrite || effect.Kind == EffectRedact || effect.Kind == EffectClamp
	switch pass {
	case PassMutate, PassValidate, PassObserve:
		if p == Audit {
			return effectError(ErrDenied, effect, "the audit phase has its own pass")
		}
		if changes && !by.Mutator && pass != PassObserve {
			return effectError(ErrDenied, effect, "a validator may not change the action or its scopes")
		}
		return nil
	case PassAudit:
		if p != Audit {
			return effectError(ErrDenied, effect, "the audit pass belongs to the audit phase")
		}
		return nil
	}
	return effectError(ErrDenied, effect, "unknown pass")
}

func effectSize(e Effect) int {
	n := len(e.Path) + len(e.Value) + len(e.Label) + len(e.Key)
	if e.Kind != EffectAsk || e.Value == nil { // an ask's document holds its text already
		n += len(e.Text)
	}
	if e.Scopes != nil {
		e.Scopes.each(*e.Scopes, func(_ string, _ ScopeKind, s, _ Scope) {
			for _, p := range s {
				n += len(p)
			}
		})
	}
	return n
}

// checkEffectValue refuses a value that is not strict JSON.
func checkEffectValue(e Effect) error {
	if err := checkJSON(e.Value, limits{maxBytes: maxEffectBytes}); err != nil {
		return invalid(e, err)
	}
	return nil
}

// checkEffect checks the form of an effect that does not touch the action.
func checkEffect(by Actor, effect Effect) error {
	switch effect.Kind {
	case EffectAsk:
		if effect.Value == nil {
			return nil
		}
		if err := checkEffectValue(effect); err != nil {
			return err
		}
		if kindOf(effect.Value) != '{' {
			return effectError(errInvalid, effect, "not an object")
		}
		return nil
	case EffectClamp:
		if effect.Scopes == nil {
			return effectError(errInvalid, effect, "no scopes given")
		}
		if err := effect.Scopes.Validate(); err != nil {
			return effectError(errInvalid, effect, "%v", err)
		}
		return nil
	case EffectAnnotate:
		_, err := annotate(nil, by, effect)
		return err
	case EffectContext:
		if SafeText(effect.Text, maxContextBytes) == "" {
			return effectError(errInvalid, effect, "no text given")
		}
		return nil
	case EffectRetry:
		_, err := decodeRetry(by, effect)
		return err
	case EffectReply:
		_, err := decodeReply(by, effect)
		return err
	case EffectArtifact:
		_, err := decodeArtifact(by, effect)
		return err
	case EffectGrant:
		if by.Tier != Trusted {
			return effectError(ErrDenied, effect, "only a trusted hook may grant")
		}
		return nil
	}
	return effectError(errInvalid, effect, "unknown kind of effect")
}

func decodeRetry(by Actor, e Effect) (Retry, error) {
	var v struct {
		Instruction string `json:"instruction"`
		Max         int    `json:"max"`
	}
	v.Max = 1
	if err := decodeValue(e, &v); err != nil {
		return Retry{}, err
	}
	text := SafeText(v.Instruction, MaxReasonBytes)
	if text == "" || v.Max < 1 || v.Max > maxRetries {
		return Retry{}, effectError(errInvalid, e, "wants an instruction and a max from 1 to %d", maxRetries)
	}
	return Retry{Instruction: text, Max: v.Max, Hook: by.Hook}, nil
}

func decodeReply(by Actor, e Effect) (Reply, error) {
	var v struct {
		Text string `json:"text"`
	}
	if err := decodeValue(e, &v); err != nil {
		return Reply{}, err
	}
	text := SafeText(v.Text, maxEffectBytes)
	if text == "" {
		return Reply{}, effectError(errInvalid, e, "no text given")
	}
	return Reply{Text: text, Hook: by.Hook}, nil
}

func decodeArtifact(by Actor, effect Effect) (Artifact, error) {
	var v struct {
		Name      string         `json:"name"`
		MediaType string         `json:"media_type"`
		Text      string         `json:"text"`
		Data      []byte         `json:"data_base64"`
		Meta      jsontext.Value `json:"meta"`
	}
	if err := decodeValue(effect, &v); err != nil {
		return Artifact{}, err
	}
	if v.MediaType == "" {
		v.MediaType = "text/plain"
	}
	if v.Name == "" || checkID(v.Name, maxArtifactName) != "" || checkID(v.MediaType, maxMediaTypeBytes) != "" {
		return Artifact{}, effectError(errInvalid, effect, "wants a name and a media type without control characters")
	}
	if (v.Text == "") == (v.Data == nil) {
		return Artifact{}, effectError(errInvalid, effect, "wants either text or data_base64")
	}
	if v.Meta != nil && kindOf(v.Meta) != '{' {
		return Artifact{}, effectError(errInvalid, effect, "meta is not an object")
	}
	return Artifact{Name: v.Name, MediaType: v.MediaType, Text: v.Text, Data: v.Data, Meta: v.Meta, Hook: by.Hook}, nil
}

// decodeValue decodes an effect's document strictly.
func decodeValue(e Effect, v any) error {
	if err := checkEffectValue(e); err != nil {
		return err
	}
	if kindOf(e.Value) != '{' {
		return effectError(errInvalid, e, "not an object")
	}
	if err := json.Unmarshal(e.Value, v, strictOptions()); err != nil {
		return invalid(e, decodeError(e.Value, err))
	}
	return nil
}

// labelled returns a hook's context so that it is not taken for a person's
// words.
func labelled(by Actor, text string) string {
	text = SafeText(text, maxContextBytes)
	for from := 0; ; { // what looks like another hook's label is not one
		i := strings.IndexByte(text[from:], '[')
		if i < 0 {
			break
		}
		from += i + 1
		if rest := text[from:]; len(rest) >= 5 && strings.EqualFold(rest[:5], "belay") {
			text = text[:from-1] + "(" + rest
		}
	}
	return SafeText(fmt.Sprintf("[belay hook %s] %s", SafeLine(by.Hook, MaxIDBytes), text), maxContextBytes)
}

// invalid wraps an error about a pointer or a document.
func invalid(effect Effect, err error) error {
	reason := "not valid"
	var d *DecodeError
	var p *pointerError
	switch {
	case errors.As(err, &d):
		reason = d.Reason
		if d.Pointer != "" {
			reason += " at " + strconv.Quote(cut(d.Pointer, 200))
		}
	case errors.As(err, &p):
		reason = p.reason
	}
	return effectError(errInvalid, effect, "%s", reason)
}
