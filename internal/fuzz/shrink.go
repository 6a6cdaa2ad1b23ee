package fuzz

import (
	"context"
	"slices"
	"unicode/utf8"
)

// maxShrinks bounds the runs that are spent on making one finding small.
const maxShrinks = 400

// shrinker makes a reproduction small while it still holds.
type shrinker struct {
	s     *subject
	left  int
	small func() bool // it need not be smaller
	best  *repro
}

// tries reports whether the reproduction holds, within the tries that are left.
func (k *shrinker) tries(ctx context.Context, r *repro) bool {
	if r.base == nil || k.left <= 0 {
		return false
	}
	k.left--
	ok, err := k.s.reproduces(ctx, r)
	return err == nil && ok
}

// reproduces runs a reproduction.
func (s *subject) reproduces(ctx context.Context, r *repro) (bool, error) {
	base, err := s.exec(ctx, r.base)
	if err != nil || r.vary == nil {
		return err == nil && r.holds(base, nil), err
	}
	p := r.vary(r.base, r.param)
	if p == nil {
		return false, nil
	}
	varied, err := s.exec(ctx, p)
	return err == nil && r.holds(base, varied), err
}

func (k *shrinker) take(ctx context.Context, change func(*repro)) bool {
	if k.small() {
		k.left = 0
	}
	if k.left <= 0 {
		return false
	}
	r := *k.best
	change(&r)
	if !k.tries(ctx, &r) {
		return false
	}
	k.best = &r
	return true
}

// shrink returns the smallest reproduction that it finds.
func (s *subject) shrink(ctx context.Context, r *repro, small func() bool) *repro {
	k := &shrinker{s: s, left: maxShrinks, small: small, best: r}
	k.number(ctx, func(r *repro) *int { return &r.param })
	// With a number that only just does, nothing could be left out of the input.
	k.take(ctx, func(r *repro) { r.param += r.param/2 + 256 })
	k.input(ctx)
	k.number(ctx, func(r *repro) *int { return &r.param })
	k.budgets(ctx)
	return k.best
}

// number makes an integer small: bisection first, then steps.
func (k *shrinker) number(ctx context.Context, of func(*repro) *int) {
	low := 0
	for high := *of(k.best); high-low > 1; high = *of(k.best) {
		mid := low + (high-low)/2
		if !k.take(ctx, func(r *repro) { *of(r) = mid }) {
			low = mid
		}
		if k.left <= 0 {
			return
		}
	}
}

// budgets leaves out budgets that the finding does not need.
func (k *shrinker) budgets(ctx context.Context) {
	for _, change := range []func(*plan){
		func(p *plan) { p.ports = 0 }, func(p *plan) { p.carried = nil }, func(p *plan) { p.slice = 0 },
		func(p *plan) { p.config = 0 },
	} {
		k.take(ctx, func(r *repro) { r.base = r.base.with(change) })
	}
	for i := 0; i < len(k.best.base.inject) && len(k.best.base.inject) > 1; {
		if !k.take(ctx, func(r *repro) {
			r.base = r.base.with(func(p *plan) { p.inject = slices.Delete(p.inject, i, i+1) })
		}) {
			i++
		}
	}
}

// input makes the input small: members and elements are left out, in halves first,
// texts are cut, numbers become 0.
func (k *shrinker) input(ctx context.Context) {
	for round := 0; round < 4; round++ {
		doc, err := document(k.best.base)
		if err != nil {
			return
		}
		before := len(doc.bytes())
		k.values(ctx, doc, doc)
		if doc, err = document(k.best.base); err != nil || len(doc.bytes()) >= before {
			return
		}
	}
}

// fits tries the document as it is now.
func (k *shrinker) fits(ctx context.Context, doc *node) bool {
	return k.take(ctx, func(r *repro) { r.base = r.base.withInput(doc.bytes()) })
}

func (k *shrinker) values(ctx context.Context, doc, n *node) {
	switch n.kind {
	case '{', '[':
		k.members(ctx, doc, n)
		for _, kid := range slices.Clone(n.kids) {
			k.values(ctx, doc, kid)
		}
	case '"':
		k.text(ctx, doc, n)
	case '0':
		if old := n.text; old != "0" {
			if n.text = "0"; !k.fits(ctx, doc) {
				n.text = old
			}
		}
	}
}

// members leaves out runs of members, each half as long as the one before.
func (k *shrinker) members(ctx context.Context, doc, n *node) {
	for size := len(n.kids); size > 0; size /= 2 {
		for at := 0; at+size <= len(n.kids) && k.left > 0; {
			kids, names := n.kids, n.names
			n.kids = slices.Delete(slices.Clone(kids), at, at+size)
			if n.kind == '{' {
				n.names = slices.Delete(slices.Clone(names), at, at+size)
			}
			if !k.fits(ctx, doc) {
				n.kids, n.names = kids, names
				at += size
			}
		}
	}
}

// text leaves out runs of characters, each half as long as the one before.
func (k *shrinker) text(ctx context.Context, doc, node *node) {
	if !utf8.ValidString(node.text) {
		return
	}
	runes := []rune(node.text)
	for size := len(runes); size > 0; size /= 2 {
		for at := 0; at+size <= len(runes) && k.left > 0; {
			shorter := slices.Delete(slices.Clone(runes), at, at+size)
			old := node.text
			if node.text = string(shorter); k.fits(ctx, doc) {
				runes = shorter
				continue
			}
			node.text = old
			at += size
		}
	}
}
