package server

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// What one user of system mode may have in the daemon's memory at once. Small bodies and answers are not counted: the
// number of connections bounds them.
const (
	smallBytes = 64 << 10
	mostBytes  = 48 << 20 // an answer of events has about 16 MiB at most, and every body less
)

// inflight counts the large bodies and answers of one user. A nil one counts nothing. Safe for concurrent use.
type inflight struct{ bytes *semaphore.Weighted }

func newInflight() *inflight { return &inflight{bytes: semaphore.NewWeighted(mostBytes)} }

// hold waits until there is a place for so many bytes, in the order of those who wait. release, which is never nil, may
// be called more than once. The error is that of ctx.
func (f *inflight) hold(ctx context.Context, n int64) (release func(), err error) {
	if f == nil || n <= smallBytes {
		return func() {}, nil
	}
	n = min(n, mostBytes)
	if err := f.bytes.Acquire(ctx, n); err != nil {
		return func() {}, err
	}
	return sync.OnceFunc(func() { f.bytes.Release(n) }), nil
}
