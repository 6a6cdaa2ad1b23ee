package hostcalls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// effectLog is what a hook has asked for so far, and the action as it would be
// after that: an effect is checked against the ones before it.
type effectLog struct {
	list    []phases.Effect
	action  jsontext.Value
	bytes   int
	count   int // without block
	blocked bool
	dropped map[phases.EffectKind]int
}

func (l *effectLog) notes() []string {
	var out []string
	for _, k := range phases.EffectKinds() {
		if n := l.dropped[k]; n > 0 {
			out = append(out, fmt.Sprintf("dropped after block: %d %s", n, k))
		}
	}
	return out
}

// add checks an effect and keeps it. What the phase, the pass and the grants
// permit is decided by package phases; order, counts and sizes here.
func (s *Session) add(effect phases.Effect, size int) (Result, error) {
	log := &s.effects
	if log.blocked && effect.Kind != phases.EffectAnnotate && effect.Kind != phases.EffectRedact {
		if log.dropped == nil {
			log.dropped = map[phases.EffectKind]int{}
		}
		log.dropped[effect.Kind]++
		return Result{}, nil
	}
	fuel := int64(0)
	if effect.Kind != phases.EffectBlock {
		switch {
		case size > MaxEffect:
			return Result{Code: int64(TooLarge)}, nil
		case log.count >= s.limits.Effects, log.bytes+size > s.limits.EffectBytes:
			return Result{Code: int64(Budget)}, nil
		}
	}
	if effect.Kind == phases.EffectRewrite || effect.Kind == phases.EffectRedact {
		fuel = 5 * int64(len(log.action)) // the result is decoded as a whole
	}
	action, err := phases.ApplyEffect(s.cfg.Phase, s.cfg.Pass, log.action, s.cfg.Actor, effect)
	if err != nil {
		no := errnoOf(err)
		s.poisonWith(err)
		return Result{Code: int64(no), Fuel: fuel}, nil
	}
	log.action = action
	log.list = append(log.list, effect)
	if effect.Kind == phases.EffectBlock {
		log.blocked = true
	} else {
		log.count++
		log.bytes += size
	}
	return Result{Fuel: fuel}, nil
}

// poisonWith keeps the first refusal with its own words.
func (s *Session) poisonWith(err error) {
	if s.poison != nil {
		return
	}
	var e interface{ Fault() *phases.Fault }
	if errors.As(err, &e) {
		s.poison = e.Fault()
		return
	}
	s.poison = phases.NewFault(phases.KindOutput, "a hook asked for something that it may not do", err)
}

func errnoOf(err error) Errno {
	switch {
	case errors.Is(err, phases.ErrDenied):
		return Denied
	case errors.Is(err, phases.ErrTooLarge):
		return TooLarge
	}
	return Invalid
}

// invalidEffect answers for arguments that cannot even be put into an effect.
var invalidEffect = Result{Code: int64(Invalid)}

func effectBlock(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.add(phases.Effect{Kind: phases.EffectBlock, Text: cutText(string(a.In[0]), MaxReason)}, 0)
}

func effectAsk(_ context.Context, s *Session, a *Args) (Result, error) {
	var doc struct {
		Reason  string         `json:"reason"`
		TTL     int64          `json:"ttl_s"`
		Details jsontext.Value `json:"details"`
	}
	raw := a.In[0]
	if err := strictObject(raw, &doc); err != nil || doc.Reason == "" || doc.TTL < 0 ||
		doc.Details != nil && doc.Details.Kind() != '{' {
		return invalidEffect, nil
	}
	return s.add(phases.Effect{Kind: phases.EffectAsk, Text: cutText(doc.Reason, MaxReason), Value: raw}, len(raw))
}

func effectRewrite(_ context.Context, session *Session, args *Args) (Result, error) {
	path, value := args.In[0], args.In[1]
	effect := phases.Effect{Kind: phases.EffectRewrite, Path: string(path)}
	switch {
	case !utf8.Valid(path) || !utf8.Valid(value):
		return invalidEffect, nil
	case args.I32 == 0:
		if effect.Value = bytes.TrimSpace(value); !effect.Value.IsValid() {
			return invalidEffect, nil
		}
	case args.I32 == 1:
		quoted, err := jsontext.AppendQuote(nil, value)
		if err != nil {
			return invalidEffect, nil
		}
		effect.Value = quoted
	case args.I32 == 2 && len(value) == 0:
		effect.Remove = true
	default:
		return invalidEffect, nil
	}
	return session.add(effect, len(path)+len(value))
}

func effectRedact(_ context.Context, s *Session, a *Args) (Result, error) {
	path, label := a.In[0], a.In[1]
	if !utf8.Valid(path) || !utf8.Valid(label) {
		return invalidEffect, nil
	}
	return s.add(phases.Effect{Kind: phases.EffectRedact, Path: string(path), Label: string(label)}, len(path)+len(label))
}

func effectClamp(_ context.Context, s *Session, a *Args) (Result, error) {
	var scopes phases.Scopes
	if err := strictObject(a.In[0], &scopes); err != nil {
		return invalidEffect, nil
	}
	return s.add(phases.Effect{Kind: phases.EffectClamp, Scopes: &scopes}, len(a.In[0]))
}

func effectAnnotate(_ context.Context, s *Session, a *Args) (Result, error) {
	key, value := a.In[0], jsontext.Value(bytes.TrimSpace(a.In[1]))
	if len(key) == 0 || !utf8.Valid(key) || !value.IsValid() {
		return invalidEffect, nil
	}
	return s.add(phases.Effect{Kind: phases.EffectAnnotate, Key: string(key), Value: value}, len(key)+len(a.In[1]))
}

func effectContext(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.text(phases.EffectContext, a)
}

func effectGrant(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.text(phases.EffectGrant, a)
}

func (s *Session) text(k phases.EffectKind, a *Args) (Result, error) {
	if !utf8.Valid(a.In[0]) {
		return invalidEffect, nil
	}
	return s.add(phases.Effect{Kind: k, Text: string(a.In[0])}, len(a.In[0]))
}

func effectRetry(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.value(phases.EffectRetry, a)
}

func effectReply(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.value(phases.EffectReply, a)
}

func effectArtifact(_ context.Context, s *Session, a *Args) (Result, error) {
	return s.value(phases.EffectArtifact, a)
}

func (s *Session) value(k phases.EffectKind, a *Args) (Result, error) {
	return s.add(phases.Effect{Kind: k, Value: bytes.TrimSpace(a.In[0])}, len(a.In[0]))
}

// strictObject decodes a request of a guest: one object, known members only.
func strictObject(raw []byte, into any) error {
	if v := jsontext.Value(raw); v.Kind() != '{' {
		return errDocument
	}
	return json.Unmarshal(raw, into, json.RejectUnknownMembers(true))
}
