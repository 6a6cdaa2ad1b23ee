package redact

// room is what is needed to look at one text; it is used again for the next one, so that looking takes no memory.
type room struct {
	census census
	found  []Finding
	bare   view
	view   *view // the text is one: findings stand in its original; nil: it is the text itself
	whole  bool  // of a view: a finding is what stands in the original

	add func(kind string, from, to int) // tell, without a secret
}

// rooms are those that no text is in. They are for one goroutine.
type rooms struct{ free []*room }

// maxKept is how many entries of a list a room keeps room for.
const maxKept = 16 << 10

// room returns one for a text.
func (d *detector) room() *room {
	if d.rooms == nil {
		d.rooms = new(rooms)
	}
	if n := len(d.rooms.free); n > 0 {
		r := d.rooms.free[n-1]
		d.rooms.free = d.rooms.free[:n-1]
		return r
	}
	r := new(room)
	r.add = func(kind string, from, to int) { r.tell(kind, from, to, "") }
	return r
}

// leave gives a room back; nothing of its text stays in it.
func (d *detector) leave(r *room) {
	clear(r.found)
	if r.found, r.view, r.whole = r.found[:0], nil, false; cap(r.found) > maxKept {
		r.found = nil
	}
	r.census.trim()
	if r.bare.text = ""; cap(r.bare.cuts) > maxKept {
		r.bare.cuts = nil
	}
	d.rooms.free = append(d.rooms.free, r)
}

// take takes the census of a text for a detector.
func (r *room) take(d *detector, s string) {
	r.census.take(s, d.ungated || len(d.names) > 0)
	switch {
	case d.ungated:
		r.census.open(s)
	case d.knownOnly:
		r.census.literals = 0
	default:
		r.census.literals = literalsIn(s)
	}
}

// tell notes a finding. secret is the text that it stands for, if that is another one.
func (r *room) tell(kind string, from, to int, secret string) {
	if r.view == nil {
		r.found = append(r.found, Finding{kind, from, to, secret})
		return
	}
	a, b := r.view.place(from, to)
	if secret == "" && !r.whole {
		secret = r.view.text[from:to]
	}
	r.found = append(r.found, Finding{kind, a, b, secret})
}
