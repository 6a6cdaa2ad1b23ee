package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/phases"
)

var errEnough = errors.New("enough")

// Who follows gets every event once, in order, also after a break.
func TestFollow(t *testing.T) {
	d := startDaemon(t)
	c := dial(t, d.dir)
	go func() {
		for i := range 30 {
			if v, err := c.Invoke(context.Background(), invocation("s", "echo "+strconv.Itoa(i))); err != nil ||
				v.Decision != phases.Allow {
				t.Errorf("%s %v", v.Decision, err)
			}
		}
	}()
	var seqs []int64
	q := wire.Query{Type: phases.EventVerdict}
	for len(seqs) < 30 {
		n := 0
		err := c.Follow(t.Context(), q, func(e phases.Event) error {
			seqs = append(seqs, e.Seq)
			q.After = e.Seq
			if n++; n == 7 || len(seqs) == 30 {
				return errEnough // a break in the connection
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
	}
	for i := range seqs {
		if i > 0 && seqs[i] <= seqs[i-1] {
			t.Errorf("out of order or twice: %v", seqs)
		}
	}
	all, err := c.Events(t.Context(), wire.Query{Type: phases.EventVerdict})
	if err != nil || len(all) != 30 {
		t.Fatalf("%d, %v", len(all), err)
	}
	for i, e := range all {
		if seqs[i] != e.Seq {
			t.Fatalf("not every event came: %v", seqs)
		}
	}
	// The same from the beginning, in few large pieces.
	var again []int64
	err = c.Follow(t.Context(), wire.Query{}, func(e phases.Event) error {
		again = append(again, e.Seq)
		switch {
		case e.Seq > seqs[29]:
			return errEnough
		case e.Seq == seqs[29]: // one more, which must be the next to come
			_, err := c.Invoke(t.Context(), invocation("s", "ls"))
			return err
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	for i, seq := range again {
		if seq != int64(i+1) {
			t.Fatalf("from the beginning: %v", again)
		}
	}
}

// The server understands every filter that the client can write down.
func TestEveryFilter(t *testing.T) {
	d := startDaemon(t)
	q := wire.Query{Type: phases.EventVerdict, Except: phases.EventHook, Phase: phases.PreTool, Kind: phases.KindPolicy}
	v := reflect.ValueOf(&q).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Type() == reflect.TypeOf(time.Time{}):
			f.Set(reflect.ValueOf(time.Now()))
		case f.Kind() == reflect.String && f.IsZero():
			f.SetString("x")
		case f.CanInt():
			f.SetInt(7)
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		}
		if v.Field(i).IsZero() {
			t.Errorf("%s is not set: the test does not know its kind", v.Type().Field(i).Name)
		}
	}
	if list, err := dial(t, d.dir).Events(t.Context(), q); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// stream is an answer that goes on.
type stream struct {
	status int
	body   io.ReadCloser // closed at the end of the test at the latest
}

func (d *daemon) follow(t *testing.T, path string, header map[string]string) stream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://belay"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.token(t, client.RoleReview))
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := d.overSocket().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return stream{resp.StatusCode, resp.Body}
}

// nextID reads a stream up to the next event and returns its number.
func nextID(t *testing.T, lines *bufio.Scanner) int64 {
	t.Helper()
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("the stream has ended: %v", lines.Err())
	return 0
}

// Last-Event-ID goes on where the client stopped; without a place it begins now.
func TestStreamBegins(t *testing.T) {
	d := startDaemon(t)
	c := dial(t, d.dir)
	invoke := func() int64 {
		v, err := c.Invoke(t.Context(), invocation("s", "ls"))
		if err != nil {
			t.Fatal(err)
		}
		return v.Event.Seq
	}
	first, second := invoke(), invoke()
	after := d.follow(t, "/v1/events?follow=true&type=verdict",
		map[string]string{"Last-Event-ID": strconv.FormatInt(first, 10)})
	if got := nextID(t, bufio.NewScanner(after.body)); got != second {
		t.Errorf("after event %d came %d, want %d", first, got, second)
	}
	now := d.follow(t, "/v1/events?follow=true&type=verdict", nil)
	lines := bufio.NewScanner(now.body)
	if !lines.Scan() { // the greeting: from here on it listens
		t.Fatal(lines.Err())
	}
	third := invoke()
	if got := nextID(t, lines); got != third {
		t.Errorf("from now on came %d, want %d", got, third)
	}
}

// Streams are few, and end with the daemon.
func TestStreamsAreBounded(t *testing.T) {
	d := startDaemon(t, withServer(func(o *server.Options) { o.Streams, o.Drain = 2, time.Hour }))
	one, two := d.follow(t, "/v1/events?follow=true", nil), d.follow(t, "/v1/events?follow=true", nil)
	if one.status != 200 || two.status != 200 {
		t.Fatal(one.status, two.status)
	}
	if three := d.follow(t, "/v1/events?follow=true", nil); three.status != 503 {
		t.Errorf("a third stream: %d", three.status)
	}
	one.body.Close()
	eventually(t, "room for another", func() bool {
		resp := d.follow(t, "/v1/events?follow=true", nil)
		defer resp.body.Close()
		return resp.status == 200
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(two.body); s.Scan(); {
			continue
		}
	}()
	d.stop(t)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("a stream outlives the daemon")
	}
}
