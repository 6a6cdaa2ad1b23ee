package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/suite"
)

type testOptions struct {
	run          string
	update       bool
	watch        bool
	build        bool
	verbose      bool
	json         bool
	junit        string
	cover        bool
	coverHTML    string
	coverProfile string
	identities   []string

	filter *regexp.Regexp
}

func (o *testOptions) covers() bool { return o.cover || o.coverHTML != "" || o.coverProfile != "" }

func (a *App) testCmd() *cobra.Command {
	var options testOptions
	cmd := &cobra.Command{
		Use:   "test DIR…",
		Short: "Run the cases of hooks in the real sandbox",
		Long: `test runs suites of cases: YAML files with an invocation, a configuration, the host's
answers, and the verdict that has to come out. DIR is a hook's folder (its suites stand
in DIR/cases), a folder of suites, or one suite; DIR/... means every hook below DIR.
Without DIR it is the folder where you are.

The module is the one that the suite names (hook: FILE.wasm, hook: builtin:NAME or
hook: rules:FILE). Else it is the one in the hook's folder, built when it is missing. If you
built that one here and its source has changed since, the cases run on a module that is
built anew; ` + "`belay hook build`" + ` writes it. A module that came with its folder is an error
then. Every case has a store of its own in memory. test retains nothing, and uses nothing
of a state directory but compiled code.

Exit status: 0 every case passed, 1 a case failed or a suite is wrong, 2 usage,
5 verdicts differ from their goldens (CASES.golden.json).`,
		Example: `  belay test                                  the hook in this folder
  belay test examples-wasm/...                every hook below
  belay test . --run 'push|pull' -v           some of its cases, one by one
  belay test . --update                       keep the verdicts as goldens
  belay test . --watch                        again whenever a file changes
  belay test . --cover --cover-html cover.html
  belay test ... --junit results.xml --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.test(cmd.Context(), args, &options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.run, "run", "", "only cases whose name matches this regular expression (RE2)")
	f.BoolVar(&options.update, "update", false, "write the goldens of suites whose cases all pass")
	f.BoolVar(&options.watch, "watch", false, "run again whenever a suite, a module or a source changes")
	f.BoolVar(&options.build, "build", false, "build hooks from their source, also those that are built")
	f.BoolVarP(&options.verbose, "verbose", "v", false, "list every case")
	f.BoolVar(&options.json, "json", false, "print JSON")
	f.StringArrayVar(&options.identities, "identity", nil,
		"open sealed recordings that cases name with the age keys of this file")
	f.StringVar(&options.junit, "junit", "", "write the results as JUnit XML to `FILE`")
	f.BoolVar(&options.cover, "cover", false, "say how much of the hooks ran")
	f.StringVar(&options.coverHTML, "cover-html", "", "write what ran as one HTML page to `FILE`")
	f.StringVar(&options.coverProfile, "coverprofile", "",
		"write the lines that ran to `FILE`, as go tool cover reads them")
	return cmd
}

func (a *App) test(ctx context.Context, args []string, options *testOptions) error {
	if len(args) == 0 {
		args = []string{"."}
	}
	var err error
	if options.filter, err = regexp.Compile(options.run); err != nil {
		return usageError("--run: "+safe(err.Error()), "It is a regular expression as Go and RE2 have them.")
	}
	if options.run == "" {
		options.filter = nil
	}
	if options.watch && (options.json || options.update) {
		return usageError("--watch does not go with --json or --update", "")
	}
	ids, err := identitiesOf(options.identities)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "belay-test-")
	if err != nil {
		return failureBy(err, "")
	}
	defer func() { _ = os.RemoveAll(work) }()
	t := &tester{app: a, o: options, args: args, ids: ids,
		where: suite.Locator{Build: options.build, Debug: options.covers(), WorkDir: work,
			Builds: hookbuild.BuildsIn(a.Getenv)}}
	if options.watch {
		return t.watch(ctx)
	}
	return t.once(ctx)
}

// tester runs suites once or again and again.
type tester struct {
	app   *App
	o     *testOptions
	args  []string
	where suite.Locator
	ids   recording.Identities

	seen []string // files that the last run has read
}

// suiteRun is one suite with what came of it. err: it could not be run.
type suiteRun struct {
	file  string
	res   suite.SuiteResult
	stale []hookbuild.Change // of the source, for which its hook was built anew
	err   error
}

// testRun is everything of one run.
type testRun struct {
	suites  []suiteRun
	without []string
	cover   []*hookCover
}

func (t *tester) once(ctx context.Context) error {
	files, without, err := suite.Find(t.args)
	if err != nil {
		return failureBy(err, "A suite is a YAML file with `cases:`; `belay hook new` makes a hook with one.")
	}
	out, err := t.outputs()
	if err != nil {
		return err
	}
	defer out.drop()
	engine, err := suite.OpenEngine(suite.EngineOptions{Dir: t.app.codeCache(), Compiler: t.app.Compiler,
		Cover: t.o.covers(), Identities: t.ids})
	if err != nil {
		return failureBy(err, "")
	}
	defer func() { _ = engine.Close() }()
	run := &testRun{without: without}
	hooks := map[string]*hookCover{}
	t.seen = slices.Clone(files)
	for _, f := range files {
		s := suiteRun{file: f}
		s.res, s.stale, s.err = t.suite(ctx, engine, f, hooks)
		if err := ctx.Err(); err != nil {
			return err
		}
		run.suites = append(run.suites, s)
	}
	for _, k := range sortedCover(hooks) {
		run.cover = append(run.cover, hooks[k])
	}
	return t.report(run, out)
}

// outputs begins the files that are wanted.
func (t *tester) outputs() (*outputs, error) {
	out := &outputs{}
	for _, path := range []string{t.o.junit, t.o.coverHTML, t.o.coverProfile} {
		if path == "" {
			continue
		}
		if err := out.add(path, 0o644); err != nil {
			out.drop()
			return nil, err
		}
	}
	return out, nil
}

// suite runs one suite. stale is how the source of its hook differs from the module that lies there.
func (t *tester) suite(ctx context.Context, engine *suite.Engine, file string,
	hooks map[string]*hookCover) (res suite.SuiteResult, stale []hookbuild.Change, err error) {
	s, err := suite.ReadFile(file)
	if err != nil {
		return suite.SuiteResult{File: file}, nil, err
	}
	m, err := t.where.Module(ctx, s)
	if err != nil {
		return suite.SuiteResult{File: file}, nil, err
	}
	if m.Path != "" {
		t.seen = append(t.seen, m.Path)
	} else if m.Source != "" {
		t.seen = append(t.seen, m.Source)
	}
	h := engine.Hook(m.Name, m.File)
	res, err = h.RunSuite(ctx, s, suite.Options{Run: t.o.filter, Update: t.o.update})
	if t.o.covers() {
		hooks[res.Digest] = &hookCover{name: res.Hook, source: m.Source, hook: h}
	}
	return res, m.Stale, err
}

// report prints and writes everything, and says how the run ended.
func (t *tester) report(run *testRun, files *outputs) error {
	app, options := t.app, t.o
	results := make([]suite.SuiteResult, 0, len(run.suites))
	for i := range run.suites {
		results = append(results, asResult(&run.suites[i]))
	}
	if err := t.profile(run); err != nil {
		return err
	}
	err := files.write(func(path string) ([]byte, error) {
		switch path {
		case options.coverHTML:
			return coverPage(run.cover)
		case options.coverProfile:
			return coverProfile(run.cover), nil
		}
		return suite.JUnit(results)
	})
	if err != nil {
		return err
	}
	sum := summarise(run)
	if options.json {
		if err := app.printJSON(testJSON(run, sum)); err != nil {
			return failureBy(err, "")
		}
		return exitWith(sum.exit())
	}
	app.printTest(run, sum, options)
	if options.filter != nil && sum.Cases == 0 && sum.Errors == 0 {
		return usageError("no case matches "+safe(options.run), "")
	}
	return exitWith(sum.exit())
}

// asResult is a suite that could not be run as one with a single error.
func asResult(s *suiteRun) suite.SuiteResult {
	if s.err == nil {
		return s.res
	}
	r := s.res
	r.File = s.file
	if r.Hook == "" {
		r.Hook = filepath.Base(filepath.Dir(s.file))
	}
	c := suite.CaseResult{Err: s.err}
	c.Case = "the suite"
	r.Cases = append(slices.Clone(r.Cases), c)
	return r
}

// testSummary counts.
type testSummary struct {
	Suites  int `json:"suites"`
	Cases   int `json:"cases"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Errors  int `json:"errors"`  // cases and suites that could not be run
	Golden  int `json:"golden"`  // cases that differ from their goldens
	Left    int `json:"left"`    // cases of goldens that are no more
	Updated int `json:"updated"` // goldens written
}

func summarise(run *testRun) testSummary {
	summary := testSummary{Suites: len(run.suites)}
	for i := range run.suites {
		r := &run.suites[i]
		if r.err != nil {
			summary.Errors++
		}
		summary.Cases += len(r.res.Cases)
		summary.Passed += r.res.Count("pass")
		summary.Failed += r.res.Count("fail")
		summary.Errors += r.res.Count("error")
		summary.Golden += r.res.Count("golden")
		summary.Left += len(r.res.Left)
		if r.res.Updated {
			summary.Updated++
		}
	}
	return summary
}

func (s testSummary) exit() int {
	switch {
	case s.Failed+s.Errors > 0:
		return ExitError
	case s.Golden+s.Left > 0:
		return ExitDifferences
	}
	return ExitOK
}

// codeCache is the state directory when there is one already: tests make none.
func (a *App) codeCache() string {
	dir, err := a.stateDir()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "keys")); err != nil {
		return ""
	}
	return dir
}

// failed reports whether an error is the status of cases that failed, and not of
// the command.
func failed(err error) bool {
	var e *exitError
	return errors.As(err, &e) && e.text == ""
}

func (t *tester) say(format string, args ...any) { fmt.Fprintf(t.app.Out, format, args...) }
