package redact

import "sync"

// desk is where one goroutine redacts one document or text: a copy of the Redactor with a record and a detector of its
// own, and the rooms of what it looks at. It is used again, so that redacting takes no memory where nothing is found.
type desk struct {
	own   Redactor
	look  detector
	rooms rooms
	path  []step // of a walk through a document
}

// desks are those at which no one works.
type desks struct{ pool sync.Pool }

// sit returns a desk with a copy of r, which learns in a record; nil: in none.
func (r *Redactor) sit(record *Record) *desk {
	k, ok := r.desks.pool.Get().(*desk)
	if !ok {
		k = new(desk)
	}
	k.own = *r
	k.own.record = record
	k.look = k.own.newDetector()
	k.look.rooms = &k.rooms
	k.own.look, k.own.at = &k.look, k
	return k
}

// leave gives the desk back; only the empty rooms stay.
func (k *desk) leave() {
	free := k.own.desks
	k.own, k.look = Redactor{}, detector{}
	clear(k.path[:cap(k.path)])
	free.pool.Put(k)
}
