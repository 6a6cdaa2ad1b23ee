// Command flood asks the machine's daemon: politely, or as badly as a user can.
//
//	flood ask WAY N          N questions, one after the other, by the way frames, http or hook; prints how long each took, in µs
//	flood bad KIND SECONDS   floods for so long: with one kind of flood, or with all; prints how many questions were
//	                         answered and refused, how many connections were opened, and the processor time in ms
//	flood burn MS SECONDS    uses so many ms of processor time each second, and asks nothing; prints how many in all
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

func main() {
	err := errors.New("usage: flood ask WAY N | flood bad KIND SECONDS | flood burn MS SECONDS")
	if len(os.Args) == 4 {
		var n int
		switch n, err = strconv.Atoi(os.Args[3]); {
		case err != nil:
		case os.Args[1] == "ask":
			err = ask(os.Args[2], n)
		case os.Args[1] == "burn":
			var ms int
			if ms, err = strconv.Atoi(os.Args[2]); err == nil {
				err = burn(ms, n)
			}
		default:
			err = bad(os.Args[2], n)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
