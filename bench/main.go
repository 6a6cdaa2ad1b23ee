// Command bench compares belay with what people would use in its place: the same small policy on the same event,
// in one run, by processor time.
//
// It decides how to measure and nothing else: no figure of it fails a test. Absolute times of shared machines move by
// a factor of two from one minute to the next, so subjects take turns in rounds, and the figure to read is a
// subject's ratio to the first of its group within a round.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belay-hooks/belay"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == belay.CompilerCommand {
		os.Exit(belay.CompilerMain(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 4 && os.Args[1] == "echo" {
		fmt.Fprintln(os.Stderr, echoMain(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type settings struct {
	root   string // of belay's source
	rounds int
	each   time.Duration // of one subject in one round
	only   *regexp.Regexp
	write  string        // a page with the two marks, of which the part between them is replaced
	format string        // a file for benchstat
	dir    string        // profiles are written there, and nothing is compared
	soak   time.Duration // of callers that ask a daemon, in place of the tables
	logs   []int         // numbers of events of logs that commands are asked about, in place of the tables
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&s.root, "root", "..", "belay's source")
	flags.IntVar(&s.rounds, "rounds", 15, "rounds, in each of which every subject has its turn")
	flags.DurationVar(&s.each, "each", 20*time.Millisecond, "how long a turn lasts")
	flags.StringVar(&s.write, "write", "", "a page in which the tables stand between two marks")
	flags.StringVar(&s.format, "benchstat", "", "a file for benchstat with one line per subject and round")
	flags.StringVar(&s.dir, "profile", "",
		"a directory for profiles of belay's rows, which are made in place of the tables")
	flags.DurationVar(&s.soak, "soak", 0, "in place of the tables: how long callers ask a daemon that reloads meanwhile")
	flags.Func("logs", "in place of the tables: commands about logs of so many events each, such as 1000,1000000",
		func(text string) (err error) { s.logs, err = sizes(text); return err })
	only := flags.String("only", "", "regular expression: groups or subjects to measure")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.rounds < 3 || s.each <= 0 || s.soak < 0 || flags.NArg() > 0 {
		return s, errors.New("give at least three rounds of more than no time, and no arguments")
	}
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, err
	}
	s.root, err = filepath.Abs(s.root)
	return s, err
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "belay-bench-") // short, because sockets lie in it
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	yard := &yard{settings: s, work: work}
	defer yard.close()
	if s.dir != "" {
		return profiles(ctx, yard)
	}
	if s.soak != 0 {
		return part(ctx, yard, "bench-soak", runSoak)
	}
	if s.logs != nil {
		return part(ctx, yard, "bench-events", runLogs)
	}
	before := look()
	var results []result
	for _, g := range groups() {
		r, err := yard.measure(ctx, g)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if len(r.rows)+len(r.found) > 0 {
			r.print(os.Stdout)
			results = append(results, r)
		}
	}
	page, goals := document(before, results), reached(goals(), results)
	goals.print(os.Stdout)
	if s.format != "" {
		if err := writeBenchstat(s.format, before, results); err != nil {
			return err
		}
	}
	if s.write != "" {
		return errors.Join(replaceBetweenMarks(s.write, "bench", page), fillGoals(s.write, goals.rows))
	}
	return nil
}

// part measures something else than the tables, with marks of its own on the page.
func part(ctx context.Context, y *yard, name string,
	run func(context.Context, *yard) (page []byte, goals *grid, err error)) error {
	page, goals, err := run(ctx, y)
	if err != nil {
		return err
	}
	goals.print(os.Stdout)
	if y.write == "" {
		return nil
	}
	return errors.Join(replaceBetweenMarks(y.write, name, page), fillGoals(y.write, goals.rows))
}

// sizes are numbers from small to large.
func sizes(text string) (all []int, err error) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1000 {
			return nil, fmt.Errorf("%q is no number of events from 1000 on", field)
		}
		all = append(all, n)
	}
	if !slices.IsSorted(all) {
		return nil, errors.New("give the smallest number first")
	}
	return all, nil
}

// profiles makes them for all groups.
func profiles(ctx context.Context, y *yard) error {
	dir, err := filepath.Abs(y.dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	runtime.MemProfileRate = profileRate
	for _, g := range groups() {
		if err := y.profile(ctx, g, dir, os.Stdout); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	fmt.Printf("\nThe profiles lie in %s: go tool pprof -http=: FILE\n", dir)
	return nil
}
