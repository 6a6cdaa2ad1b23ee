// Command gohook is a hook in standard Go, for the stub of WASI: it sleeps, reads clocks, prints,
// uses maps and JSON, starts goroutines, and ends itself when told to.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
	"unsafe"
)

//go:wasmimport belay_v1 input_read
func inputRead(d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 input_get
func inputGet(p unsafe.Pointer, n uint32, d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 log
func hostLog(level int32, p unsafe.Pointer, n uint32) int32

var started = time.Now()

func say(s string) { hostLog(1, unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))) }

func input() map[string]any {
	b := make([]byte, inputRead(nil, 0))
	inputRead(unsafe.Pointer(&b[0]), uint32(len(b)))
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		panic(err)
	}
	return v
}

//go:wasmexport pre_tool
func preTool() int32 {
	from := time.Now()
	time.Sleep(3 * time.Hour)
	if slept := time.Since(from); slept < 3*time.Hour || slept > 4*time.Hour {
		say("slept " + slept.String())
		return 1
	}
	done := make(chan string)
	go func() {
		select {
		case <-time.After(time.Minute):
			done <- "timer"
		}
	}()
	v := input()
	out, _ := json.Marshal(v["args"])
	say(<-done + " " + string(out) + " " + from.UTC().Format(time.DateOnly) + " " + started.UTC().Format(time.DateOnly))
	fmt.Println("printed", len(os.Args), len(os.Environ()))
	if _, err := os.ReadFile("/etc/passwd"); err == nil {
		return 2
	}
	return 0
}

// keep is what makes hog grow.
var keep [][]byte

//go:wasmexport pre_plan
func prePlan() int32 {
	for {
		keep = append(keep, make([]byte, 1<<20))
	}
}

//go:wasmexport pre_send
func preSend() int32 { panic("told to") }

//go:wasmexport post_tool
func postTool() int32 { os.Exit(0); return 0 }

//go:wasmexport audit
func audit() int32 { return 0 }

func main() {}
