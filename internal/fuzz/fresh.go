package fuzz

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/belay-hooks/belay/phases"
)

// fresh makes a new input out of one of the corpus. It runs on any goroutine.
func (f *fuzzer) fresh(base *plan, seed uint64) attempt {
	rng := rand.New(rand.NewPCG(seed, 0x6e6577))
	mutator := f.m.with(rng)
	doc, err := document(base)
	if err != nil {
		return attempt{}
	}
	if rng.IntN(16) == 0 {
		return f.frontDoor(base, mutator.damage(doc.bytes()))
	}
	mutator.mutate(doc)
	wire := doc.bytes()
	plan := base.withInput(wire)
	if plan == nil {
		return f.frontDoor(base, wire)
	}
	switch rng.IntN(8) {
	case 0:
		plan.config = rng.IntN(len(f.hook.configs))
	case 1:
		plan.ports = 1 + rng.Uint64N(1<<20)
	case 2:
		plan.carried = mutator.carried()
	case 3:
		plan.ports, plan.carried = 0, nil
	}
	return attempt{plan: plan}
}

// carried is metadata that an earlier hook may have left.
func (m *mutator) carried() phases.Metadata {
	key := pick(m.rng, []string{"class", "stage", "approved", "count"})
	if len(m.words) > 0 && m.rng.IntN(2) == 0 {
		key = pick(m.rng, m.words)
	}
	md := phases.Metadata{key: {Value: m.value().bytes(), Hook: "before", Tier: phases.Sandboxed}}
	if md.Validate() != nil {
		return nil
	}
	return md
}

// frontDoor is the attempt of an input that may not decode.
func (f *fuzzer) frontDoor(base *plan, raw []byte) attempt {
	inv, err, panicked := decode(raw)
	if panicked != "" {
		return attempt{plan: base, raw: raw,
			trouble: &verdictOn{ClassPanic, ClassPanic + "|decode", "decoding panicked: " + panicked}}
	}
	if err != nil {
		return attempt{plan: base, raw: raw, refused: err}
	}
	if !f.served(inv.Phase) {
		return attempt{}
	}
	// Damage that did none.
	wire, err := phases.EncodeInvocation(inv)
	again, err2 := phases.DecodeInvocation(wire)
	if err != nil || err2 != nil || string(again.Action) != string(inv.Action) {
		return attempt{plan: base, raw: raw,
			trouble: &verdictOn{ClassFrontDoor, ClassFrontDoor + "|round trip",
				"an input decodes and cannot be written and read again"}}
	}
	return attempt{plan: base.with(func(p *plan) { p.wire, p.inv = raw, inv })}
}

func decode(raw []byte) (inv phases.Invocation, err error, panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint(p)
		}
	}()
	inv, err = phases.DecodeInvocation(raw)
	return inv, err, ""
}

// lookRefused compares the result of a refused input with the one that it has to have.
func (f *fuzzer) lookRefused(t *attempt, res *result) {
	bad := func(class, key, format string, args ...any) {
		f.report(verdictOn{class, class + "|" + key, fmt.Sprintf(format, args...)},
			"input "+phases.SafeLine(string(t.raw[:min(len(t.raw), 160)]), 200), &repro{base: t.plan})
	}
	var place *phases.DecodeError
	if !errors.As(t.refused, &place) {
		bad(ClassFrontDoor, "class", "an input was refused without its place: %v", t.refused)
	}
	if res.verdict.Decision != phases.Block || res.err == nil {
		bad(ClassFrontDoor, "refuse", "an input that does not decode is decided %s", res.verdict.Decision)
	}
	if why := unrecorded(res); why != "" {
		bad(ClassUnrecorded, "refuse "+why, "an input that does not decode: %s", why)
	}
}
