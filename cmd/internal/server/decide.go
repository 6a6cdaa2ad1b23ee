package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

var (
	errBody = errors.New("the body did not come")
	// errNoPlace: large bodies and answers of the user took all places until the end.
	errNoPlace = errors.New("large questions and answers that are not read take all places")
)

// maxRest bounds how much of a body that is too large is read, in bytes.
const maxRest = 16 << 20

// readBody reads at most max bytes and one more, so that the reader sees that
// there are too many. Then rest gets the whole body, as far as maxRest goes. The error is
// errBody for a body that was cut off or did not come in time, also beside too many bytes; it is logged.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, max int, rest io.Writer) ([]byte, error) {
	control := http.NewResponseController(w)
	held, err := s.holdBody(r, max)
	switch {
	case err != nil && r.Context().Err() == nil:
		return nil, errors.Join(errNoPlace, err)
	case err != nil:
		return nil, s.cutOff(r, 0, err)
	}
	_ = control.SetReadDeadline(time.Now().Add(s.o.Body))
	b, err := readAll(r.Body, r.ContentLength, max, held)
	if err != nil {
		return b, s.cutOff(r, int64(len(b)), err)
	}
	if len(b) > max {
		if rest == io.Discard && r.ContentLength > int64(max)+maxRest {
			return b, nil // it is not read to its end in any case
		}
		_, _ = rest.Write(b)
		if n, err := io.CopyN(rest, r.Body, maxRest); err != nil && !errors.Is(err, io.EOF) {
			return b, s.cutOff(r, int64(len(b))+n, err) // too large, and cut off
		}
		return b, nil // and the deadline stays: there may be more
	}
	_ = control.SetReadDeadline(time.Time{}) // the body has ended, and the decision may take longer
	return b, nil
}

// readAll reads at most max bytes and one more. A large body whose length is announced is copied less often, and one
// whose room is held not at all.
func readAll(body io.Reader, announced int64, max int, held bool) ([]byte, error) {
	n := int(min(announced, int64(max)+1))
	switch {
	case announced < 0 || announced <= smallBytes:
		return io.ReadAll(io.LimitReader(body, int64(max)+1))
	case held:
		return daemonapi.ReadHeld(body, n)
	}
	return daemonapi.ReadBody(body, n)
}

// holdBody waits for a place for a body of at most so many bytes, which the end of the request gives back, or letGo.
// Without held no place is counted for the caller.
func (s *Server) holdBody(r *http.Request, most int) (held bool, err error) {
	e, n := errandOf(r.Context()), int64(most)+1
	if e == nil {
		return false, nil
	}
	if r.ContentLength >= 0 {
		n = min(n, r.ContentLength)
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Body)
	defer cancel()
	return true, e.hold(ctx, n)
}

// cutOff logs that a body ended before its end, for whichever endpoint it was.
func (s *Server) cutOff(r *http.Request, came int64, err error) error {
	s.log.LogAttrs(r.Context(), slog.LevelWarn, "the body of a request was cut off, or did not come in time",
		slog.String("path", phases.SafeLine(r.URL.Path, 128)), slog.Int64("bytes", came),
		slog.Int64("announced", r.ContentLength), slog.Any("error", err))
	return errors.Join(errBody, err)
}

// document reads a body strictly, or answers why not.
func (s *Server) document(w http.ResponseWriter, r *http.Request, most int, into any) bool {
	src, err := s.readBody(w, r, most, io.Discard)
	if len(src) > most {
		s.problem(w, r, http.StatusRequestEntityTooLarge,
			wire.ProblemBody{Code: wire.CodeTooLarge, Message: "the body is too large"})
		return false
	}
	if err == nil {
		err = errandOf(r.Context()).take(r.Context())
	}
	if err == nil {
		err = json.Unmarshal(src, into, json.RejectUnknownMembers(true))
	}
	if err != nil {
		s.problem(w, r, http.StatusBadRequest,
			wire.ProblemBody{Code: wire.CodeRequest, Message: "the body is not a valid document: " +
				phases.SafeLine(err.Error(), 256)})
		return false
	}
	return true
}

// deciding is the context of a decision: what has begun is decided and recorded
// also when the caller has gone, so that a lost connection changes no record.
// Only the end of the daemon ends it.
func (s *Server) deciding(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decideTime)
	stop := context.AfterFunc(s.ending.over, cancel)
	return ctx, func() { stop(); cancel() }
}

func overloaded() *phases.Fault {
	return phases.NewFault(phases.KindDeadline, "too many actions are waiting to be decided", kernel.ErrOverloaded)
}

// judged is what an invocation came to, whichever way it came in.
type judged struct {
	verdict phases.Verdict
	status  int          // of HTTP; the verdict is the answer only of http.StatusOK
	problem wire.Problem // else
}

// judge has an invocation decided for a caller; with unfit it is refused without a look at it.
func (s *Server) judge(ctx context.Context, credential string, src []byte, unfit *phases.Fault) judged {
	defer s.calm(ctx)
	defer s.changed()
	leave, no := s.gate.enter(ctx, len(src))
	if no != nil {
		leave, unfit = s.gate.enterRefusal(ctx), no
	}
	if unfit != nil {
		var v phases.Verdict
		inTurn(leave, func() { v = dispatch.Refuse(ctx, s.host, src, unfit) })
		if no != nil || errors.Is(unfit, kernel.ErrOverloaded) {
			return s.turnedAway(v, unfit)
		}
		return judged{status: http.StatusBadRequest, problem: wire.Problem{Event: v.Event,
			Error: wire.ProblemBody{Code: wire.CodeRequest, Message: unfit.Text, Decision: phases.Block}}}
	}
	done := s.ending.begin(func(f *phases.Fault) kernel.Refusal {
		inv, err := phases.DecodeInvocation(src)
		if err != nil {
			inv = phases.Invocation{}
		}
		return kernel.Refusal{Invocation: inv, Raw: inv.Action, Fault: f}
	})
	var verdict phases.Verdict
	var err error
	inTurn(leave, func() {
		defer done()
		verdict, err = dispatch.Wire(s.reading(ctx), credited{s.host, credential}, src)
	})
	if err != nil {
		p := wire.Problem{Event: verdict.Event,
			Error: wire.ProblemBody{Code: wire.CodeInvocation, Message: "the invocation is not valid", Decision: phases.Block}}
		if d := new(phases.DecodeError); errors.As(err, &d) {
			p.Error.Message, p.Error.Pointer = "the invocation is not valid: "+d.Error(), d.Pointer
		}
		status := http.StatusBadRequest
		if len(src) > phases.MaxInputBytes {
			status, p.Error.Code = http.StatusRequestEntityTooLarge, wire.CodeTooLarge
		}
		return judged{status: status, problem: p}
	}
	s.log.LogAttrs(ctx, slog.LevelDebug, "decided", slog.String("invocation", verdict.ID),
		slog.String("phase", string(verdict.Phase)),
		slog.String("decision", string(verdict.Decision)))
	return judged{verdict: verdict, status: http.StatusOK}
}

// turnedAway is what an invocation came to for which there was no place, with why.
func (s *Server) turnedAway(v phases.Verdict, why *phases.Fault) judged {
	code := wire.CodeStore
	if errors.Is(why, kernel.ErrOverloaded) {
		code = wire.CodeOverloaded
		s.gate.turnedAway.Add(1)
	}
	return judged{status: http.StatusServiceUnavailable, problem: wire.Problem{Event: v.Event,
		Error: wire.ProblemBody{Code: code, Message: v.Reason, Decision: phases.Block}}}
}

// notRead is the failure of a question whose body was not read.
func notRead(err error) *phases.Fault {
	if errors.Is(err, errNoPlace) {
		return overloaded()
	}
	return notWhole(err)
}

// notWhole is the failure of a question whose body did not come; err is of class errBody.
func notWhole(err error) *phases.Fault {
	return phases.NewFault(phases.KindProtocol, errBody.Error(), err)
}

// invoke answers POST /v1/invoke.
func (s *Server) invoke(w http.ResponseWriter, r *http.Request) {
	var unfit *phases.Fault // why the action is not looked at
	src, err := s.readBody(w, r, phases.MaxInputBytes, io.Discard)
	switch {
	case given(r).err != nil:
		unfit = phases.NewFault(phases.KindProtocol, "no parameters are taken here", given(r).err)
	case err != nil && len(src) <= phases.MaxInputBytes: // a larger body gets its own error
		unfit = notRead(err)
	}
	ctx, cancel := s.deciding(r)
	defer cancel()
	out := s.judge(ctx, credential(r), src, unfit)
	errandOf(ctx).letGo()
	switch out.status {
	case http.StatusOK:
		s.write(w, r, out.status, out.verdict)
		return
	case http.StatusServiceUnavailable:
		if out.problem.Error.Code == wire.CodeOverloaded {
			w.Header().Set("Retry-After", "1")
		}
	}
	s.write(w, r, out.status, out.problem)
}

// noRuntime is the problem of a payload of a runtime that there is no adapter for.
func noRuntime() wire.ProblemBody {
	return wire.ProblemBody{Code: wire.CodeNotFound, Message: "this runtime is not known", Decision: phases.Block}
}

// adapter answers POST /adapters/RUNTIME, as `belay eval --runtime` does. Whatever
// goes wrong once the runtime is known is that runtime's own way of saying no,
// with a status that it reads.
func (s *Server) adapter(w http.ResponseWriter, r *http.Request) {
	adapter, ok := s.o.Runtimes[r.PathValue("runtime")]
	if !ok {
		s.problem(w, r, http.StatusNotFound, noRuntime())
		return
	}
	full := strings.TrimSpace(r.Header.Get("Accept")) == daemonapi.AnswerType
	if !full && !adapter.Table().Reads(adapters.FormBody) {
		s.problem(w, r, http.StatusNotAcceptable, wire.ProblemBody{Code: wire.CodeRequest,
			Message: "this runtime reads no HTTP answers: ask for " + daemonapi.AnswerType, Decision: phases.Block})
		return
	}
	opts := adapters.Options{User: s.o.User, Headless: r.Header.Get(daemonapi.HeadlessHeader) != ""}
	opts.MaxBytes = adapter.Table().Limit(opts)
	params := given(r)
	opts.Event = params.text("event")
	whole := io.Discard
	scan := adapters.ScanFor(adapter)
	if scan != nil {
		whole = scan
	}
	payload, bodyErr := s.readBody(w, r, opts.Limit(), whole)
	if opts.Cut = bodyErr != nil; len(payload) > opts.Limit() {
		opts.Scan = scan
	}
	var unfit *phases.Fault
	switch {
	case params.err != nil:
		unfit = phases.NewFault(phases.KindProtocol,
			"the address that the hook is registered with has parameters that belay does not know", params.err)
	case bodyErr != nil:
		unfit = notRead(bodyErr)
	}
	ctx, cancel := s.deciding(r)
	defer cancel()
	out := s.answer(ctx, credential(r), adapter, payload, opts, unfit)
	if full {
		errandOf(ctx).letGo()
		s.write(w, r, http.StatusOK, wholeAnswer(out))
		return
	}
	status, contentType, body := out.Answer.HTTP()
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// wholeAnswer is an answer as a hook command reads it.
func wholeAnswer(out dispatch.Answered) client.Answer {
	a := client.Answer{Stdout: string(out.Answer.Stdout), Stderr: out.Answer.Stderr, Exit: out.Answer.Exit,
		Notes: out.Answer.Notes, Verdicts: out.Verdicts}
	if a.Notes == nil {
		a.Notes = []string{}
	}
	return a
}

// answer has a runtime's payload decided for a caller, and logs what the runtime does not read;
// with unfit the payload is refused without a look at it.
func (s *Server) answer(ctx context.Context, credential string, adapter adapters.Adapter, payload []byte,
	opts adapters.Options, unfit *phases.Fault) (out dispatch.Answered) {
	defer s.calm(ctx)
	defer s.changed()
	leave, no := s.gate.enter(ctx, len(payload))
	if no != nil {
		leave, unfit = s.gate.enterRefusal(ctx), no
	}
	if unfit != nil {
		inTurn(leave, func() { out = dispatch.RefuseRuntime(ctx, s.host, adapter, payload, opts, unfit) })
		if errors.Is(unfit, kernel.ErrOverloaded) {
			s.gate.turnedAway.Add(1)
		}
	} else {
		done := s.ending.begin(func(f *phases.Fault) kernel.Refusal {
			no := adapter.Failure(payload, opts, f)
			var err error
			r := kernel.Refusal{Invocation: phases.Invocation{Runtime: adapter.Runtime(), Session: no.Session}, Fault: f,
				Unblockable: opts.NeedsLatch(no), Unread: true}
			r.Why = phases.LatchStopped
			if r.Of, err = adapters.Invocations(adapter, payload, opts); err != nil {
				r.Why = phases.LatchPayload
			}
			return r
		})
		inTurn(leave, func() {
			defer done()
			out = dispatch.Runtime(s.reading(ctx), credited{s.host, credential}, adapter, payload, opts)
			s.heard(ctx, adapter, payload, opts)
		})
	}
	if out.Err != nil && !errors.Is(out.Err, errBody) { // who read the body has told of that
		s.log.LogAttrs(ctx, slog.LevelWarn, "a runtime's event could not be decided",
			slog.String("runtime", adapter.Runtime()),
			slog.Any("error", out.Err))
	}
	for _, n := range out.Answer.Notes {
		s.log.LogAttrs(ctx, slog.LevelInfo, "note", slog.String("runtime", adapter.Runtime()), slog.String("note", n))
	}
	return out
}
