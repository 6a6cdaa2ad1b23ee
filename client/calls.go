package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

const defaultEvents = 100 // without Query.Limit

var readers = []Role{RoleReview, RoleAdmin}

// Invoke has one invocation decided and returns when the answer is logged. The
// verdict always holds the decision: with an error, which is ErrSick or
// ErrRefused, it is a block. Over the framed socket it is a wire.Slim, unless Options.Whole asks
// for more: Hooks and Masked are empty, PolicyRevision and ActionDigest too.
func (c *Client) Invoke(ctx context.Context, inv phases.Invocation) (phases.Verdict, error) {
	return c.InvokeWith(ctx, phases.Request{Invocation: inv})
}

// InvokeWith is Invoke for a caller that holds scopes itself, or knows those of a
// child's parent. A caller that holds them runs the action within Verdict.Scopes and
// nothing beyond; the kernel then lets actions pass that it cannot check.
func (c *Client) InvokeWith(ctx context.Context, r phases.Request) (phases.Verdict, error) {
	inv := r.Invocation
	src, err := phases.EncodeRequest(r)
	if err != nil {
		return blocked(inv, "the invocation is not valid"), err
	}
	v, err := c.decided(ctx, src, inv.Action)
	if err != nil {
		b := blocked(inv, v.Reason)
		b.Event = v.Event
		return b, err
	}
	if inv.ID != "" && v.ID != inv.ID || v.Phase != inv.Phase {
		return blocked(inv, "belay answered something that was not asked"),
			fmt.Errorf("%w: it answered for another invocation", ErrSick)
	}
	return v, nil
}

// InvokeJSON is Invoke for an invocation that is in the wire form already. Its verdict is complete.
func (c *Client) InvokeJSON(ctx context.Context, src []byte) (phases.Verdict, error) {
	var v phases.Verdict
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	q := question(daemonapi.FrameInvoke, daemonapi.FlagWhole, src)
	sent, err := c.framed.ask(within, q, daemonapi.FrameVerdict, &v)
	if !sent {
		if src == nil {
			src = []byte{}
		}
		err = c.call(ctx, request{method: http.MethodPost, path: "/v1/invoke", body: src, roles: []Role{RoleInvoke}}, &v)
	}
	return accepted(v, err)
}

// decided is InvokeJSON with as much of the verdict as the client's options ask for; action is that of src.
func (c *Client) decided(ctx context.Context, src []byte, action jsontext.Value) (phases.Verdict, error) {
	if !c.whole {
		var slim wire.Slim
		within, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		if sent, err := c.framed.ask(within, question(daemonapi.FrameInvoke, 0, src), daemonapi.FrameVerdict, &slim); sent {
			return accepted(slim.Verdict(action), err)
		}
	}
	return c.InvokeJSON(ctx, src)
}

// accepted returns an answer's verdict, or the block that stands for it.
func accepted(v phases.Verdict, err error) (phases.Verdict, error) {
	if err == nil && !decides(&v) {
		err = fmt.Errorf("%w: its verdict is not complete", ErrSick)
	}
	if err == nil {
		v.Withhold() // a daemon of an earlier version sends it
		return v, nil
	}
	b := blocked(phases.Invocation{}, "belay could not be asked")
	if p := new(Error); errors.As(err, &p) {
		b.Reason, b.Event = p.Message, p.Event
	}
	return b, err
}

// decides reports whether a verdict can be acted on: nothing but a block stands
// without a record.
func decides(v *phases.Verdict) bool {
	switch v.Decision {
	case phases.Block:
		return true
	case phases.Allow, phases.Ask:
		return v.Event != nil && v.ID != "" && v.Phase.Valid() && (len(v.Action) > 0 || !v.Runs())
	}
	return false
}

func blocked(inv phases.Invocation, reason string) phases.Verdict {
	return phases.Verdict{
		ID: inv.ID, Phase: inv.Phase, Decision: phases.Block, Reason: reason, Kind: phases.KindProtocol, DecidedBy: "belay",
		Changed: []string{}, Metadata: phases.Metadata{}, Contexts: []string{}, Artifacts: []phases.Artifact{},
		Masked: []string{},
		Hooks:  []phases.HookReport{}, Enforced: phases.EnforcedDirect,
	}
}

// Ask brings a runtime's own payload and returns that runtime's own answer. event
// is the event that the caller was registered for, or "".
func (c *Client) Ask(ctx context.Context, runtime, event string, payload []byte) (Answer, error) {
	return c.ask(ctx, runtime, event, payload, false)
}

// AskHeadless is Ask for a session without a person: the runtime is not told to put a question.
func (c *Client) AskHeadless(ctx context.Context, runtime, event string, payload []byte) (Answer, error) {
	return c.ask(ctx, runtime, event, payload, true)
}

func (c *Client) ask(ctx context.Context, runtime, event string, payload []byte, headless bool) (Answer, error) {
	q := request{method: http.MethodPost, path: "/adapters/" + url.PathEscape(runtime), body: payload,
		roles: []Role{RoleInvoke}, accept: daemonapi.AnswerType, headless: headless}
	if event != "" {
		q.query = url.Values{"event": {event}}
	}
	if q.body == nil {
		q.body = []byte{}
	}
	var a struct {
		Answer
		Stdout *string `json:"stdout"` // in place of the members of Answer: nil where it is missing
		Exit   *int    `json:"exit"`
	}
	sent := false
	var err error
	if max(len(runtime), len(event)) <= daemonapi.MaxName {
		flags := daemonapi.FlagWhole
		if headless {
			flags |= daemonapi.FlagHeadless
		}
		within, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		sent, err = c.framed.ask(within, question(daemonapi.FrameEvent, flags,
			daemonapi.AppendEvent(nil, runtime, event, payload)), daemonapi.FrameAnswer, &a)
	}
	if !sent {
		err = c.call(ctx, q, &a)
	}
	if err == nil && !daemonapi.Answers(a.Stdout, a.Exit, a.Stderr) {
		err = fmt.Errorf("%w: its answer is none that a runtime reads", ErrSick)
	}
	if err != nil {
		return Answer{}, err
	}
	a.Answer.Stdout, a.Answer.Exit = *a.Stdout, *a.Exit
	return a.Answer, nil
}

// Alive reports whether the daemon answers at all. It asks for a document that takes no
// store, no token and no turn. The error is ErrSick, or one of the connection.
func (c *Client) Alive(ctx context.Context) error {
	var doc struct{} // its members do not matter
	return c.call(ctx, request{method: http.MethodGet, path: "/v1/openapi.json"}, &doc)
}

// Health says whether the daemon can write its records. The error is ErrSick: it did
// not say.
func (c *Client) Health(ctx context.Context) (wire.Health, error) {
	var h wire.Health
	err := c.call(ctx, request{method: http.MethodGet, path: "/healthz", also: http.StatusServiceUnavailable}, &h)
	if err != nil {
		return wire.Health{}, err
	}
	return h, nil
}

// Status says whether belay can do its work.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	var s wire.Status
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/status", roles: readers}, &s)
	return s, err
}

// Hooks lists the bound hooks in the order in which they are asked.
func (c *Client) Hooks(ctx context.Context) ([]wire.Hook, error) {
	var l List
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/hooks", roles: readers}, &l)
	return l.Hooks, err
}

// Latches returns the sessions that are latched, oldest first.
func (c *Client) Latches(ctx context.Context) ([]wire.Latch, error) {
	var l List
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/latches", roles: readers}, &l)
	return l.Latches, err
}

// ClearLatch lets a latched session go on or, where Session is "", a whole runtime, and
// that is recorded. It takes RoleAdmin and, where a reviewer is registered, an order.
func (c *Client) ClearLatch(ctx context.Context, s wire.Session, o *approvals.Order) error {
	body := mustJSON(latchClear{s, o})
	return c.call(ctx, request{method: http.MethodPost, path: "/v1/latches/clear", body: body, roles: []Role{RoleAdmin}},
		&s)
}

// latchClear is the body of /v1/latches/clear.
type latchClear struct {
	wire.Session
	Statement *approvals.Order `json:"statement,omitzero"`
}

// AcceptConfig records that a person has looked at the configuration of that revision,
// which has to be the one in use. It takes RoleAdmin and, where a reviewer is
// registered, an order.
func (c *Client) AcceptConfig(ctx context.Context, revision string, o *approvals.Order) error {
	r := configAccept{Revision: revision, Statement: o}
	return c.call(ctx,
		request{method: http.MethodPost, path: "/v1/config/accept", body: mustJSON(r), roles: []Role{RoleAdmin}},
		&configAccept{})
}

// configAccept is the body of /v1/config/accept and, without the statement, its answer.
type configAccept struct {
	Revision  string           `json:"revision"`
	Statement *approvals.Order `json:"statement,omitzero"`
}

// EffectiveConfig returns the configuration in force, each hook and key with its layer. It takes RoleReview or
// RoleAdmin; in system mode it is the caller's own.
func (c *Client) EffectiveConfig(ctx context.Context) (*wire.EffectiveConfig, error) {
	r := new(wire.EffectiveConfig)
	if err := c.call(ctx, request{method: http.MethodGet, path: "/v1/config/effective", roles: readers}, r); err != nil {
		return nil, err
	}
	return r, nil
}

// SetUserConfig has the daemon of system mode take file as the layer of the user who asks, in place of the one before;
// nil removes it. A layer can only restrict: anything else is refused, and nothing changes. It returns the revision
// that is in force then.
func (c *Client) SetUserConfig(ctx context.Context, file []byte) (revision string, err error) {
	var r configUser
	if file != nil {
		text := string(file)
		r.File = &text
	} else {
		r.Remove = true
	}
	var done Reloaded
	err = c.call(ctx,
		request{method: http.MethodPost, path: "/v1/config/user", body: mustJSON(r), roles: []Role{RoleAdmin}}, &done)
	return done.Revision, err
}

// configUser is the body of /v1/config/user: one of the two.
type configUser struct {
	File   *string `json:"file,omitzero"`
	Remove bool    `json:"remove,omitzero"`
}

// Compact removes the contents of old events, and that is recorded. It takes RoleAdmin.
func (c *Client) Compact(ctx context.Context, o Compaction) (wire.Compacted, error) {
	var r wire.Compacted
	err := c.call(ctx,
		request{method: http.MethodPost, path: "/v1/events/compact", body: mustJSON(o), roles: []Role{RoleAdmin}}, &r)
	return r, err
}

// Reconcile has the daemon compare the log of a runtime, an absolute path in that runtime's directory, with
// belay's events, and log what came of it. It takes RoleReview or RoleAdmin.
func (c *Client) Reconcile(ctx context.Context, runtime, log string) ([]wire.Reconciliation, error) {
	var r wire.Reconciliations
	err := c.call(ctx, request{method: http.MethodPost, path: "/v1/events/reconcile",
		body:  mustJSON(reconcileRequest{runtime, log}),
		roles: []Role{RoleReview, RoleAdmin}}, &r)
	return r.Sessions, err
}

// reconcileRequest is the body of /v1/events/reconcile.
type reconcileRequest struct {
	Runtime string `json:"runtime"`
	Log     string `json:"log"`
}

// Compacted says which events have no contents any more: 1 to through, as the event of
// number event announces.
func (c *Client) Compacted(ctx context.Context) (through, event int64, err error) {
	s, err := c.Status(ctx)
	return s.Gone, s.GoneBy, err
}

// Reload has the daemon take its configuration into use anew. It takes RoleAdmin.
// When that fails, the one before stays in use.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	var r Reloaded
	err := c.call(ctx, request{method: http.MethodPost, path: "/v1/reload", roles: []Role{RoleAdmin}}, &r)
	return r, err
}

// Events returns the recorded events, in order. It asks again while the daemon has
// more than fits into one answer.
func (c *Client) Events(ctx context.Context, query wire.Query) ([]phases.Event, error) {
	out := []phases.Event{}
	for want := cmp.Or(query.Limit, defaultEvents); ; {
		var list List
		if err := c.call(ctx, request{method: http.MethodGet, path: "/v1/events", query: eventFilters(query), roles: readers},
			&list); err != nil {
			return nil, err
		}
		n := len(list.Events)
		if query.Newest {
			out = append(list.Events, out...)
		} else {
			out = append(out, list.Events...)
		}
		if want -= n; !list.More || n == 0 || want <= 0 {
			return out, nil
		}
		query.Limit = want
		if query.Newest {
			query.Before = list.Events[0].Seq
		} else {
			query.After = list.Events[n-1].Seq
		}
	}
}

// eventFilters writes the query down as parameters.
func eventFilters(query wire.Query) url.Values {
	p := filters{}
	p.number("after", query.After)
	p.number("before", query.Before)
	p.number("limit", int64(query.Limit))
	p.instant("since", query.Since)
	p.instant("until", query.Until)
	p.text("id", query.ID)
	p.text("type", string(query.Type))
	p.text("except", string(query.Except))
	p.text("phase", string(query.Phase))
	p.text("runtime", query.Runtime)
	p.text("session", query.Session)
	p.text("agent", query.Agent)
	p.text("tool", query.Tool)
	p.text("invocation", query.Invocation)
	p.text("binding", query.Binding)
	p.text("decision", query.Decision)
	p.text("kind", string(query.Kind))
	if query.Newest {
		p.text("newest", "true")
	}
	return url.Values(p)
}

// filters are the parameters of a list. Zero values select everything, and are left out.
type filters url.Values

func (p filters) text(name, s string) {
	if s != "" {
		url.Values(p).Set(name, s)
	}
}

func (p filters) number(name string, n int64) {
	if n != 0 {
		url.Values(p).Set(name, strconv.FormatInt(n, 10))
	}
}

func (p filters) instant(name string, t time.Time) {
	if !t.IsZero() {
		url.Values(p).Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}
