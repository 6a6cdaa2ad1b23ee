package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const (
	lookEvery = time.Second // for denials that a person has made here; those of others wake it
	readEvery = time.Minute // all of them, whatever is told: rows may be edited by hand
)

// denialStore is a store with what all kernels deny.
type denialStore interface {
	Denied() <-chan struct{}
	Denials(ctx context.Context) ([]postgres.Denial, error)
	Deny(ctx context.Context, d postgres.Denial) error
}

// Noter records in the log that a person has denied something for all kernels, and returns the event's number.
type Noter interface {
	NoteDenied(ctx context.Context, n kernel.DenialNote, text string) (int64, error)
}

// Denials follows what all kernels deny, and tells others what a person denies here. It is used by one goroutine.
type Denials struct {
	dir    string
	store  denialStore
	file   *trust.WatchedDenials
	log    *slog.Logger
	noted  map[string]int64 // events of denials that others do not know of yet, by their id
	said   string           // what went wrong last, as it was logged
	unread bool             // the last reading failed
}

// Of returns what follows the denials of all kernels, for the state directory dir; nil where the store has none.
func Of(store kernel.Store, dir string, log *slog.Logger) *Denials {
	s, ok := store.(denialStore)
	if !ok {
		return nil
	}
	return &Denials{dir: dir, store: s, file: trust.WatchDenials(dir), log: log, noted: map[string]int64{}}
}

// Take writes the denials of the database into the file of this state directory. It never takes one out.
func (d *Denials) Take(ctx context.Context) error {
	rows, err := d.store.Denials(ctx)
	var unreadable []string
	if errors.Is(err, kernel.ErrDamaged) { // there is no telling what is denied
		unreadable, err = []string{phases.SafeLine(err.Error(), 300)}, nil
	}
	if err != nil {
		return err
	}
	var all []trust.Denial
	for i := range rows {
		r := &rows[i]
		n, err := trust.DecodeDenial(r.Body)
		if err == nil && n.ID != uuid.UUID(r.Name).String() {
			err = errors.New("it has two names")
		}
		if err != nil {
			unreadable = append(unreadable, phases.SafeLine(fmt.Sprintf("row %d, of kernel %s: %v", r.ID, r.By, err), 300))
			continue
		}
		n.Kernel, n.Event = phases.SafeLine(r.By, 80), r.Seq
		all = append(all, n)
	}
	return trust.EditDenials(d.dir, func(f *trust.Denials) error {
		f.Unreadable = unreadable
		for _, n := range all {
			f.Add(n)
		}
		return nil
	})
}

// tell tells other kernels what was denied here and is not known to them. cover redacts a text.
func (d *Denials) tell(ctx context.Context, k Noter, cover func(string) string) (told int, err error) {
	f, err := d.file.Read()
	if err != nil {
		return 0, err
	}
	for _, n := range f.Denials {
		if n.Event != 0 {
			continue
		}
		n.Why, n.By = phases.SafeLine(cover(n.Why), 300), phases.SafeLine(cover(n.By), 300)
		name, err := uuid.FromString(n.ID)
		if err != nil {
			return told, err
		}
		body, err := n.Encode()
		if err != nil {
			return told, err
		}
		if d.noted[n.ID] == 0 {
			text := "denied for all kernels by " + n.By + ": " + n.Why
			seq, err := k.NoteDenied(ctx, kernel.DenialNote{ID: n.ID, Digest: phases.ByteDigest(body)}, text)
			if err != nil {
				return told, err
			}
			d.noted[n.ID] = seq
		}
		if err := d.store.Deny(ctx, postgres.Denial{Name: name, Seq: d.noted[n.ID], Body: body}); err != nil {
			return told, err
		}
		told++
	}
	return told, nil
}

// step does both, as far as there is something to do.
func (d *Denials) step(ctx context.Context, k Noter, cover func(string) string, woken bool) {
	var err error
	if woken || d.unread {
		err = d.Take(ctx)
		d.unread = err != nil
	}
	if err == nil {
		err = d.Share(ctx, k, cover)
	}
	switch text := errorText(err); {
	case err == nil, ctx.Err() != nil:
		d.said = ""
	case text != d.said:
		d.said = text
		d.log.LogAttrs(ctx, slog.LevelError, "what all kernels deny cannot be followed; what is known stays denied",
			slog.String("error", strings.ToValidUTF8(text, "?")))
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Share tells other kernels what was denied here, and takes where that is recorded. cover redacts a text.
func (d *Denials) Share(ctx context.Context, k Noter, cover func(string) string) error {
	told, err := d.tell(ctx, k, cover)
	if told > 0 {
		err = errors.Join(err, d.Take(ctx)) // where it is recorded
	}
	return err
}

// Follow keeps up with what all kernels deny until ctx ends. It calls after each look, from one goroutine.
func (d *Denials) Follow(ctx context.Context, k Noter, cover func(string) string, after func()) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	read := time.Now()
	for woken := true; ; {
		next := d.store.Denied()
		d.step(ctx, k, cover, woken)
		after()
		woken = false
		select {
		case <-ctx.Done():
			return
		case <-next:
			woken = true
		case <-tick.C:
			woken = time.Since(read) > readEvery
		}
		if woken {
			read = time.Now()
		}
	}
}
