package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// burnStep is how long a thread of burn rests once it has had its share.
const burnStep = time.Millisecond

// burn uses so many ms of processor time each second, on as many threads as a flood has, and asks belay nothing. It is
// what a flood takes from others beside belay.
func burn(ms, seconds int) error {
	threads := runtime.GOMAXPROCS(0)
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	began := time.Now()
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			runtime.LockOSThread()
			for now := began; now.Before(end); now = time.Now() {
				due := now.Sub(began) * time.Duration(ms) / time.Duration(1000*threads)
				for used() < due && time.Now().Before(end) {
					spin()
				}
				time.Sleep(burnStep)
			}
		})
	}
	all.Wait()
	fmt.Println(processUsed())
	return nil
}

// used is the processor time of this thread.
func used() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// processUsed is the processor time of this process, in ms.
func processUsed() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano()).Milliseconds()
}

// spin works for some 20 µs, in memory of the size of a processor's cache.
func spin() {
	var block [16 << 10]byte
	for n := range 4 {
		for i := range block {
			block[i] += byte(i * n)
		}
	}
	runtime.KeepAlive(block)
}
