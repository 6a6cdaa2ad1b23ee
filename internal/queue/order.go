package queue

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// The verbs of orders. A verb is what the command line calls it.
const (
	VerbLatchClear approvals.Verb = "latch clear"
	VerbCompact    approvals.Verb = "events compact"
	VerbRecord     approvals.Verb = "record"
	VerbRecover    approvals.Verb = "recover"

	VerbConfigAccept approvals.Verb = "config accept"
)

// Verbs returns all verbs. The slice is the caller's.
func Verbs() []approvals.Verb {
	return []approvals.Verb{VerbLatchClear, VerbCompact, VerbRecord, VerbRecover, VerbConfigAccept}
}

// Limits of an order.
const (
	// MaxOrder is the most bytes that an order has when it is written down.
	MaxOrder = 4 << 10

	// MaxOrderLife is how long an order can be used at most. The event of a use must
	// outlive it: events are not compacted before they are older (MinCompactionAge of
	// package kernel).
	MaxOrderLife = 24 * time.Hour

	// DefaultOrderLife is for an order that is written to a file.
	DefaultOrderLife = time.Hour
)

// OrderError says why an order does not count. Class is ErrInvalid, ErrContent (it is
// about another act), ErrExpired, ErrSignature or ErrDecided (it was used), for
// errors.Is. The text is safe to show.
type OrderError struct {
	Class error
	Text  string
}

// Error says why, without the text of the class, which is about items of the
func (e *OrderError) Error() string {
	return "the reviewer's statement does not count: " + e.Text
}

// Unwrap returns the class.
func (e *OrderError) Unwrap() error { return e.Class }

func orderError(class error, format string, args ...any) error {
	return &OrderError{class, phases.SafeText(fmt.Sprintf(format, args...), 2<<10)}
}

// orderHeading is the first line of what a reviewer signs.
const orderHeading = "belay reviewer statement v1\n"

// NewOrder drafts an order; SignOrder completes it. Args is anything that encodes as a
// JSON object. The error is an *OrderError of ErrInvalid.
func NewOrder(v approvals.Verb, store string, args any, at leases.Instant,
	life time.Duration) (approvals.Order, error) {
	raw, err := orderArgs(args)
	if err != nil {
		return approvals.Order{}, err
	}
	id, err := uuid.NewV7AtTime(at.Wall)
	if err != nil {
		return approvals.Order{}, orderError(approvals.ErrInvalid, "%v", err)
	}
	now := at.Wall.UTC().Truncate(time.Millisecond)
	o := approvals.Order{ID: id.String(), Verb: v, Store: store, Args: raw, At: now, Expires: now.Add(life),
		Clock: at.StampOf(now)}
	return o, validate(&o)
}

// orderArgs encodes arguments in the one form in which they are compared and signed.
func orderArgs(args any) (jsontext.Value, error) {
	b, err := json.Marshal(args)
	if err != nil {
		return nil, orderError(approvals.ErrInvalid, "/args: %v", err)
	}
	c, err := phases.Canonical(b)
	if err != nil {
		return nil, orderError(approvals.ErrInvalid, "/args: %v", err)
	}
	return c, nil
}

// DecodeOrder decodes an order strictly: the members that Order has and no other. The
// signature may be missing, as in a draft. The error is an *OrderError of ErrInvalid.
func DecodeOrder(src []byte) (approvals.Order, error) {
	var o approvals.Order
	if len(src) > MaxOrder {
		return o, orderError(approvals.ErrInvalid, "it has more than %d bytes", MaxOrder)
	}
	if err := json.Unmarshal(src, &o, json.RejectUnknownMembers(true)); err != nil {
		var se *json.SemanticError
		if errors.As(err, &se) {
			return approvals.Order{}, orderError(approvals.ErrInvalid, "%s is not what is wanted there", string(se.JSONPointer))
		}
		return approvals.Order{}, orderError(approvals.ErrInvalid, "it is not strict JSON")
	}
	return o, validate(&o)
}

// EncodeOrder writes the order down, with a line end. The error is of ErrInvalid.
func EncodeOrder(o *approvals.Order) ([]byte, error) {
	b, err := json.Marshal(o, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, orderError(approvals.ErrInvalid, "%v", err)
	}
	return append(b, '\n'), nil
}

// validate checks everything that does not depend on the reviewers and the time.
func validate(order *approvals.Order) error {
	bad := func(what string) error { return orderError(approvals.ErrInvalid, "%s", what) }
	known := false
	for _, v := range Verbs() {
		known = known || v == order.Verb
	}
	switch id, err := uuid.FromString(order.ID); {
	case err != nil || id.Version() != uuid.V7 || id.String() != order.ID:
		return bad("/id is no UUIDv7")
	case !known:
		return bad("/verb is not known")
	case order.Store == "" || len(order.Store) > phases.MaxIDBytes ||
		phases.SafeLine(order.Store, phases.MaxIDBytes) != order.Store:
		return bad("/store names no state directory")
	case !utf8.ValidString(order.By) || len(order.By) > phases.MaxIDBytes || len(order.Key) > phases.MaxIDBytes:
		return bad("/by or /key_id is too long")
	case order.At.IsZero() || !order.Expires.After(order.At) || order.Expires.Sub(order.At) > MaxOrderLife:
		return bad(fmt.Sprintf("/expires is not within %v after /at", MaxOrderLife))
	case order.Clock.Boot == "" && order.Clock.Since != 0 || len(order.Clock.Boot) > phases.MaxIDBytes ||
		!utf8.ValidString(order.Clock.Boot):
		return bad("/clock is no time since a boot")
	case len(order.Signature) != 0 && len(order.Signature) != ed25519.SignatureSize:
		return bad("/signature is no Ed25519 signature")
	case order.Args.Kind() != '{':
		return bad("/args is no object")
	}
	if c, err := phases.Canonical(order.Args); err != nil {
		return bad("/args is not strict JSON")
	} else if len(c) > MaxOrder {
		return bad("/args is too long")
	}
	return nil
}

// Restamp gives a draft that came from elsewhere the stamp of the host that is about to
// sign it. The one that it came with is a claim: it could make the order usable later than
// the reviewer is shown.
func Restamp(o *approvals.Order, at leases.Instant) { o.Clock = at.StampOf(o.At) }

// OrderOver reports whether the order cannot be used any more at a time.
func OrderOver(o *approvals.Order, at leases.Instant) bool { return o.Clock.Over(at, o.At, o.Expires) }

// ahead reports whether the order is of a time that has not come: of more than skew from now.
func ahead(o *approvals.Order, at leases.Instant) bool {
	if o.Clock.Counts(at) {
		return time.Duration(o.Clock.Since)-at.Since > skew
	}
	return o.At.After(at.Wall.Add(skew))
}

// OrderStatement returns the bytes that a reviewer signs: all members but the signature.
func OrderStatement(o *approvals.Order) ([]byte, error) {
	doc := struct {
		ID      string         `json:"id"`
		Verb    approvals.Verb `json:"verb"`
		Store   string         `json:"store"`
		Args    jsontext.Value `json:"args"`
		By      string         `json:"by"`
		Key     string         `json:"key_id"`
		At      time.Time      `json:"at"`
		Expires time.Time      `json:"expires"`
		Clock   leases.Stamp   `json:"clock,omitzero"`
	}{o.ID, o.Verb, o.Store, o.Args, o.By, o.Key, o.At.UTC(), o.Expires.UTC(), o.Clock}
	b, err := json.Marshal(&doc)
	if err != nil {
		return nil, orderError(approvals.ErrInvalid, "%v", err)
	}
	c, err := phases.Canonical(b)
	if err != nil {
		return nil, orderError(approvals.ErrInvalid, "%v", err)
	}
	return append([]byte(orderHeading), c...), nil
}

// SignOrder signs the order in the name of a reviewer.
func SignOrder(o *approvals.Order, by string, key ed25519.PrivateKey) error {
	o.By, o.Key = by, approvals.KeyID(key.Public().(ed25519.PublicKey))
	b, err := OrderStatement(o)
	if err != nil {
		return err
	}
	o.Signature = ed25519.Sign(key, b)
	return nil
}

// CheckOrder reports whether an order that comes in at a time counts for a verb with
// these arguments on a store: a reviewer signed exactly that, and it has not run out.
// It does not know whether the order was used: that is for the log to say. Errors are
// *OrderError.
func (a *Authority) CheckOrder(order *approvals.Order, verb approvals.Verb, store string, args any,
	at leases.Instant) error {
	if err := validate(order); err != nil {
		return err
	}
	want, err := orderArgs(args)
	if err != nil {
		return err
	}
	have, err := phases.Canonical(order.Args)
	if err != nil {
		return orderError(approvals.ErrInvalid, "/args: %v", err)
	}
	switch {
	case order.Verb != verb:
		return orderError(approvals.ErrContent, "it is for %q, and this is %q", order.Verb, verb)
	case store == "" || order.Store != store:
		return orderError(approvals.ErrContent, "it is for the state directory %s, and this is %s", order.Store, store)
	case string(have) != string(want):
		return orderError(approvals.ErrContent, "it says %s, and this is %s", phases.SafeLine(string(have), 512),
			phases.SafeLine(string(want), 512))
	case ahead(order, at):
		return orderError(approvals.ErrInvalid, "it was signed at %s, and now it is %s", order.At.UTC().Format(time.RFC3339),
			at.Wall.UTC().Format(time.RFC3339))
	case OrderOver(order, at):
		return orderError(approvals.ErrExpired, "it could be used until %s", order.Expires.UTC().Format(time.RFC3339))
	}
	b, err := OrderStatement(order)
	if err != nil {
		return err
	}
	for _, r := range a.Reviewers {
		if r.Name == order.By && approvals.KeyID(r.Key) == order.Key && ed25519.Verify(r.Key, b, order.Signature) {
			return nil
		}
	}
	return orderError(approvals.ErrSignature, "no registered reviewer signed it")
}
