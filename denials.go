package belay

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

// denialsEvery is how often a kernel looks for denials that a person has made here. Those of others wake it.
const denialsEvery = time.Second

// denialStore is a store with what all kernels deny.
type denialStore interface {
	Changed() <-chan struct{}
	Denials(ctx context.Context) ([]postgres.Denial, error)
	Deny(ctx context.Context, d postgres.Denial) error
}

// denials follows what all kernels deny, and tells others what a person denies here.
type denials struct {
	dir    string
	store  denialStore
	log    *slog.Logger
	noted  map[string]int64 // events of denials that others do not know of yet, by their id
	said   string           // what went wrong last, as it was logged
	unread bool             // the last reading failed
}

// sharedDenials returns what follows the denials of all kernels; nil where the store has none, or trust.yaml decides
// nothing.
func sharedDenials(store kernel.Store, dir string, o *Options, log *slog.Logger) *denials {
	s, ok := store.(denialStore)
	if !ok || o.DryRun || o.InMemory || o.Verifier != nil {
		return nil
	}
	return &denials{dir: dir, store: s, log: log, noted: map[string]int64{}}
}

// take writes the denials of the database into the file of this state directory. It never takes one out.
func (d *denials) take(ctx context.Context) error {
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
func (d *denials) tell(ctx context.Context, k *kernel.Kernel, cover func(string) string) (told int, err error) {
	f, err := trust.ReadDenials(d.dir)
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
func (d *denials) step(ctx context.Context, k *kernel.Kernel, cover func(string) string, woken bool) {
	var err error
	if woken || d.unread {
		err = d.take(ctx)
		d.unread = err != nil
	}
	if err == nil {
		var told int
		if told, err = d.tell(ctx, k, cover); told > 0 {
			err = errors.Join(err, d.take(ctx)) // where it is recorded
		}
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

// followDenials keeps up with what all kernels deny, until the returned function is called.
func (b *Belay) followDenials(d *denials) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(denialsEvery)
		defer tick.Stop()
		pending := false
		for woken := true; ; {
			next := d.store.Changed()
			d.step(ctx, b.kernel, b.redact.Line, woken)
			if b.conf.trust.Refresh() {
				pending = true
			}
			if pending && b.useTrust(ctx) == nil { // else at the next tick
				pending = false
			}
			woken = false
			select {
			case <-ctx.Done():
				return
			case <-next:
				woken = true
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// ShareDenials tells other kernels at once what was denied here for all of them. A host that was opened with hooks does
// so by itself within a second. The error is kernel.ErrUnavailable, or of class tiers.PolicyUnusable.
func (b *Belay) ShareDenials(ctx context.Context) error {
	d := sharedDenials(b.storage.Engine(), b.dir, &b.o, b.log)
	if d == nil {
		return fmt.Errorf("%w: the store is shared with no other kernel", ErrState)
	}
	told, err := d.tell(ctx, b.kernel, b.redact.Line)
	if err == nil && told > 0 {
		err = d.take(ctx)
	}
	return err
}
