package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// yard is where a run measures: settings, a directory, and what has to be closed.
type yard struct {
	settings
	work   string
	closes []func()
	built  map[string]string
}

func (y *yard) atEnd(f func()) { y.closes = append(y.closes, f) }

func (y *yard) close() {
	for _, f := range slices.Backward(y.closes) {
		f()
	}
	y.closes = nil
}

// round is what one subject took for one decision in one round.
type round struct {
	processor, clock time.Duration
}

type row struct {
	name, note string
	rounds     []round
	missing    string // why it could not be measured
}

type result struct {
	group
	rows  []row
	found []fact
}

// measure has the subjects of a group take turns.
func (y *yard) measure(ctx context.Context, g group) (result, error) {
	r := result{group: g}
	inside := &yard{settings: y.settings, work: filepath.Join(y.work, short(g.name)), built: map[string]string{}}
	defer inside.close()
	if y.only.String() != "" && !y.only.MatchString(g.name) {
		return r, nil
	}
	if err := os.MkdirAll(inside.work, 0o700); err != nil {
		return r, err
	}
	if g.facts != nil {
		var err error
		r.found, err = g.facts(ctx, inside)
		return r, err
	}
	subjects, err := g.open(ctx, inside)
	if err != nil {
		return r, err
	}
	times := make([]int, len(subjects))
	r.rows = make([]row, len(subjects))
	for i, s := range subjects {
		r.rows[i] = row{name: s.name, note: s.note}
		if s.do == nil && s.own == nil {
			r.rows[i].missing = s.note
			continue
		}
		if times[i], err = y.calibrate(ctx, s); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for n := range y.rounds {
		for k := range subjects {
			i := (k + n) % len(subjects) // so that no subject always follows the same other
			if subjects[i].do == nil && subjects[i].own == nil {
				continue
			}
			took, err := subjects[i].turn(ctx, times[i])
			if err != nil {
				return r, fmt.Errorf("%s: %w", subjects[i].name, err)
			}
			r.rows[i].rounds = append(r.rows[i].rounds, took)
		}
		progress(g.name, n+1, y.rounds)
	}
	return r, nil
}

// calibrate warms a subject up and says how many times it fits into a turn.
func (y *yard) calibrate(ctx context.Context, s subject) (int, error) {
	if s.own != nil {
		_, err := s.own(ctx)
		return 1, err
	}
	for n := 1; ; n *= 2 {
		took, err := s.turn(ctx, n)
		if err != nil {
			return 0, err
		}
		spent := took.clock * time.Duration(n*s.decisions())
		if spent >= y.each/2 {
			return max(1, int(int64(n)*int64(y.each)/int64(max(spent, 1)))), nil
		}
	}
}

func (s *subject) decisions() int { return max(s.per, 1) }

func (s *subject) turn(ctx context.Context, n int) (round, error) {
	runtime.GC() // what the subject before it left behind is not this one's
	if s.own != nil {
		return s.own(ctx)
	}
	processor, clock := s.processor(), time.Now()
	for range n {
		if err := ctx.Err(); err != nil {
			return round{}, err
		}
		if err := s.do(ctx); err != nil {
			return round{}, err
		}
	}
	each := time.Duration(n * s.decisions())
	took := round{clock: time.Since(clock) / each}
	took.processor = (s.processor() - processor) / each
	return took, nil
}

// processor is the processor time of this process, of its children that have ended, and of the processes that work
// for the subject.
func (s *subject) processor() time.Duration {
	var own unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &own)
	total := time.Duration(own.Nano())
	var children unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &children) == nil {
		total += time.Duration(children.Utime.Nano() + children.Stime.Nano())
	}
	for _, pid := range s.pids {
		total += threads(pid)
	}
	return total
}

// threads is the processor time of a process's threads, as the scheduler counts it.
func threads(pid int) (total time.Duration) {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // a thread that has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		total += time.Duration(ns)
	}
	return total
}

func short(name string) string { return strings.ReplaceAll(name, " ", "-") }
