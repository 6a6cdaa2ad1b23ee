// Command manpages writes the man pages of belay: one for each command, from the texts of its help, and one for each
// YAML file, from its schema. `make man` runs it.
//
// It is a program of its own, so that belay links no renderer of documents.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Getenv, os.Stderr)) }

func run(args []string, getenv func(string) string, stderr io.Writer) int {
	flags := flag.NewFlagSet("manpages", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("o", "", "directory to write man1 and man5 into")
	version := flags.String("version", "", "what `belay --version` says")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *dir == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "manpages: name the directory with -o, and nothing else")
		return 2
	}
	date, err := dateOf(getenv("SOURCE_DATE_EPOCH"))
	if err == nil {
		err = write(*dir, *version, date)
	}
	if err != nil {
		fmt.Fprintln(stderr, "manpages:", err)
		return 1
	}
	return 0
}

// dateOf is the date of the pages. It is never today's: the same sources give the same bytes.
func dateOf(epoch string) (time.Time, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, errors.New("set SOURCE_DATE_EPOCH to the date of the version, in seconds since 1970")
	}
	return time.Unix(seconds, 0).UTC(), nil
}
