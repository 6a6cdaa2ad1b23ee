package kernel

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What waits for a commit is told the same as by the contexts of package context.
func TestPatienceIsAsAContextWithATimeout(t *testing.T) {
	type key struct{}
	for _, c := range []struct {
		name  string
		early bool // Done is asked for before it ends
		after time.Duration
		end   bool
		want  error
	}{
		{"not over", true, time.Second, false, nil},
		{"not over, never asked", false, time.Second, false, nil},
		{"over", true, time.Minute, false, context.DeadlineExceeded},
		{"over, asked late", false, time.Minute, false, context.DeadlineExceeded},
		{"ended", true, time.Second, true, context.Canceled},
		{"ended, asked late", false, time.Second, true, context.Canceled},
		{"over, then ended", true, time.Minute, true, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
			cancel() // which does not reach it
			p, other := newPatience(parent, time.Minute), context.Context(nil)
			other, stop := context.WithTimeout(context.WithoutCancel(parent), time.Minute)
			defer stop()
			if c.early {
				_ = p.Done()
			}
			time.Sleep(c.after)
			synctest.Wait()
			if c.end {
				if c.want == context.DeadlineExceeded && p.Err() == nil {
					t.Error("it is not over")
				}
				p.end(context.Canceled)
				stop()
			}
			for _, ctx := range []context.Context{p, other} {
				over := false
				select {
				case <-ctx.Done():
					over = true
				default:
				}
				if err := ctx.Err(); !errors.Is(err, c.want) || over != (c.want != nil) || (err == nil) != (c.want == nil) {
					t.Errorf("%s: %T has ended: %t, %v, want %v", c.name, ctx, over, err, c.want)
				}
				child, cancel := context.WithCancel(ctx)
				synctest.Wait()
				if err := child.Err(); !errors.Is(err, c.want) || ctx.Value(key{}) != "v" {
					t.Errorf("%s: a child of %T: %v, want %v", c.name, ctx, err, c.want)
				}
				cancel()
			}
			if a, ok := p.Deadline(); !ok {
				t.Error("no deadline")
			} else if b, _ := other.Deadline(); !a.Equal(b) {
				t.Errorf("deadlines %v and %v", a, b)
			}
			p.end(context.Canceled)
		})
	}
}
