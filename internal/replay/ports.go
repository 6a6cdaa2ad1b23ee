package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/phases"
)

var errNotRecorded = errors.New("the recording has no answer to this")

// answers plays the ports of one turn from its recording. In order, each request gets the
// next answer or none. Otherwise a request is looked up, since a hook that changed may ask
// in another order. For a request that the recording does not contain, state is absent and
// a call is unavailable; it counts as unknown.
type answers struct {
	turn    *recording.Turn // nil: nothing was recorded
	inOrder bool
	next    int
	used    []bool
	wrong   *Difference // the first request that has no answer, in order
	unknown []string
}

func newAnswers(t *recording.Turn, inOrder bool) *answers {
	a := &answers{turn: t, inOrder: inOrder}
	if t != nil && !inOrder {
		a.used = make([]bool, len(t.Answers))
	}
	return a
}

// attach gives a turn these ports and no others.
func (a *answers) attach(cfg hostcalls.SessionConfig) hostcalls.SessionConfig {
	cfg.State, cfg.Tools, cfg.Leases, cfg.HTTP, cfg.Files = nil, nil, nil, nil, nil
	has := func(port string) bool { return a.turn == nil || slices.Contains(a.turn.Ports, port) }
	if has("state") {
		cfg.State = state{a}
	}
	if has("files") {
		cfg.Files = files{a}
	}
	// Without a recording there are no tools, leases and hosts.
	if a.turn == nil {
		return cfg
	}
	if has("tools") {
		cfg.Tools = rig.Ask(a.ask)
	}
	if has("leases") {
		cfg.Leases = rig.Ask(a.ask)
	}
	if has("http") {
		cfg.HTTP = rig.Ask(a.ask)
	}
	return cfg
}

// find returns the answer to a request, or nil.
func (a *answers) find(port string, request []byte) *recording.Answer {
	if a.turn == nil {
		a.missed(port, request)
		return nil
	}
	list := a.turn.Answers
	if a.inOrder {
		if a.next < len(list) && list[a.next].Port == port && list[a.next].Request.Is(request) {
			a.next++
			return &list[a.next-1]
		}
		if a.wrong == nil {
			want := "nothing more"
			if a.next < len(list) {
				want = requestText(list[a.next].Port, list[a.next].Request.Complete())
			}
			a.wrong = &Difference{What: WhatAnswer, Where: fmt.Sprintf("request %d", a.next+1), Want: want,
				Got: requestText(port, request)}
		}
		return nil
	}
	last := -1
	for i := range list {
		if list[i].Port != port || !list[i].Request.Is(request) {
			continue
		}
		if !a.used[i] {
			a.used[i] = true
			return &list[i]
		}
		last = i
	}
	// A request that only reads may be repeated. One that acts was carried out once.
	if last >= 0 && (port == hostcalls.PortState || port == hostcalls.PortUsage || port == hostcalls.PortReadlink) {
		return &list[last]
	}
	a.missed(port, request)
	return nil
}

func (a *answers) missed(port string, request []byte) {
	if len(a.unknown) < 16 {
		a.unknown = append(a.unknown, requestText(port, request))
	}
}

func requestText(port string, request []byte) string {
	if len(request) == 0 {
		return port
	}
	return port + " " + phases.SafeLine(string(request), 200)
}

// left describes the next recorded answer that was not asked for; "" when none is left.
func (a *answers) left() string {
	if a.turn == nil || !a.inOrder || a.next >= len(a.turn.Answers) {
		return ""
	}
	return requestText(a.turn.Answers[a.next].Port, a.turn.Answers[a.next].Request.Complete())
}

type state struct{ *answers }

func (s state) Get(_ context.Context, key string) ([]byte, int64, error) {
	a := s.find(hostcalls.PortState, []byte(key))
	if a == nil {
		return nil, 0, s.missing()
	}
	return a.Reply.Complete(), a.Version, errorOf(a)
}

func (s state) Usage(context.Context) (int, int, error) {
	a := s.find(hostcalls.PortUsage, nil)
	if a == nil {
		return 0, 0, s.missing()
	}
	return a.Keys, a.Bytes, errorOf(a)
}

// missing is the error for a request without an answer: in order it ends the turn.
func (a *answers) missing() error {
	if a.inOrder {
		return errNotRecorded
	}
	return nil
}

type files struct{ *answers }

func (f files) Readlink(_ context.Context, path string) (string, error) {
	a := f.find(hostcalls.PortReadlink, []byte(path))
	if a == nil {
		return "", hostcalls.FileError("unknown")
	}
	return string(a.Reply.Complete()), hostcalls.FileError(a.Error)
}

// ask answers a call that something outside of the kernel carries out.
func (a *answers) ask(ctx context.Context, port string, _ phases.Actor,
	request jsontext.Value) (jsontext.Value, error) {
	found := a.find(port, request)
	switch {
	case found != nil:
		hostcalls.Charge(ctx, found.Fuel)
		return found.Reply.Complete(), errorOf(found)
	case a.inOrder:
		return nil, errNotRecorded
	}
	return nil, hostcalls.Unavailable
}

// errorOf is the error that a port gave. Its text is compared nowhere: the turn
// ended with a fixed sentence.
func errorOf(a *recording.Answer) error {
	switch {
	case a.Errno != 0 && a.Reply != nil:
		return &hostcalls.Refusal{Errno: hostcalls.Errno(a.Errno), Reply: a.Reply.Complete()}
	case a.Errno != 0:
		return hostcalls.Errno(a.Errno)
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}
