package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// figures are what a row comes to: medians, and the ratio to the first row, round by round.
type figures struct {
	processor, clock time.Duration
	ratio            float64
	low, high        float64 // of the ratio: the 10th and the 90th of a hundred rounds
}

func (r *result) figures(of *row) figures {
	var f figures
	var processor, clock []time.Duration
	var ratios []float64
	for i, took := range of.rounds {
		processor, clock = append(processor, took.processor), append(clock, took.clock)
		if base := r.rows[0].rounds; i < len(base) && base[i].processor > 0 {
			ratios = append(ratios, float64(took.processor)/float64(base[i].processor))
		}
	}
	f.processor, f.clock = middle(processor, 50), middle(clock, 50)
	f.ratio, f.low, f.high = middle(ratios, 50), middle(ratios, 10), middle(ratios, 90)
	return f
}

func middle[T time.Duration | float64](of []T, percent int) T {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[(len(of)-1)*percent/100]
}

func micros(d time.Duration) string {
	us := float64(d.Nanoseconds()) / 1000
	if us < 100 {
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

func times(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// cells are a row's columns.
func (r *result) cells(of *row) []string {
	if of.missing != "" {
		return []string{of.name, "–", "–", "–", "–", of.missing}
	}
	f := r.figures(of)
	return []string{of.name, micros(f.processor), micros(f.clock), times(f.ratio),
		times(f.low) + "–" + times(f.high), of.note}
}

var columns = []string{"", "processor µs", "clock µs", "ratio", "10–90 %", ""}

func (r *result) grid() *grid {
	g := &grid{header: columns}
	if r.facts != nil {
		g.header = []string{"", "measured", ""}
		for _, f := range r.found {
			g.rows = append(g.rows, []string{f.what, f.figure, f.note})
		}
	}
	for i := range r.rows {
		g.rows = append(g.rows, r.cells(&r.rows[i]))
	}
	return g
}

func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s\n", r.name, r.about)
	r.grid().print(w)
}

func (r *result) page(w io.Writer) {
	fmt.Fprintf(w, "\n%s.\n\n", strings.ToUpper(r.about[:1])+r.about[1:])
	r.grid().page(w)
}

// machine is what a reader has to know about the place of a run.
type machine struct {
	at        time.Time
	processor string
	count     int
	kernel    string
	load      string
	commit    string
	versions  []string
}

func look() machine {
	m := machine{at: time.Now().UTC(), count: runtime.NumCPU(), load: strings.TrimSpace(first("/proc/loadavg", " "))}
	for line := range strings.Lines(read("/proc/cpuinfo")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.processor = strings.TrimSpace(value)
			break
		}
	}
	m.kernel = strings.TrimSpace(read("/proc/sys/kernel/osrelease"))
	if out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		m.commit = strings.TrimSpace(string(out))
	}
	m.versions = append(m.versions, strings.TrimPrefix(runtime.Version(), "go")+" (Go)")
	compared := []string{"tetratelabs/wazero", "extism/go-sdk", "open-policy-agent/opa", "cel-go", "dop251/goja",
		"wasmtime-go", "ncruces/go-sqlite3"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			for _, name := range compared {
				if strings.Contains(d.Path, name) && !strings.Contains(d.Path, "sqlite3-wasm") {
					m.versions = append(m.versions, d.Version+" ("+d.Path+")")
				}
			}
		}
	}
	return m
}

func read(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

func first(file, separator string) string {
	text, _, _ := strings.Cut(read(file), separator)
	return text
}

// document is the part of a page between the marks.
func document(m machine, results []result) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Written by `make bench` on %s, commit %s.\n%d processors (%s), Linux %s, load %s before the run.\n",
		m.at.Format("2 January 2006"), m.commit, m.count, m.processor, m.kernel, m.load)
	fmt.Fprintf(&b, "Versions: %s.\n", strings.Join(m.versions, ", "))
	fmt.Fprint(&b, "Each figure is a median of rounds in which the subjects took turns. A ratio compares a row with the\n"+
		"first of its table within a round, by processor time, daemons and children included.\n")
	for i := range results {
		results[i].page(&b)
	}
	return b.Bytes()
}

// marks are the lines around a part of a page that this program writes.
func marks(name string) (begin, end []byte) {
	return fmt.Appendf(nil, "<!-- %s: begin -->\n", name), fmt.Appendf(nil, "<!-- %s: end -->\n", name)
}

// replaceBetweenMarks puts a text between the marks of that name.
func replaceBetweenMarks(file, name string, text []byte) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := marks(name)
	before, rest, ok := bytes.Cut(old, begin)
	_, after, ok2 := bytes.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the lines %q and %q", file, begin, end)
	}
	next := file + ".new"
	if err := os.WriteFile(next, slices.Concat(before, begin, text, end, after), 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}

func progress(group string, round, of int) {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	end := ""
	if round == of {
		end = "\r\033[K"
	}
	fmt.Fprintf(os.Stderr, "\r%s: round %d of %d%s", group, round, of, end)
}

// writeBenchstat writes the form that benchstat reads.
func writeBenchstat(file string, m machine, results []result) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "goos: linux\ngoarch: %s\npkg: bench\ncpu: %s\n", runtime.GOARCH, m.processor)
	for _, r := range results {
		for _, row := range r.rows {
			name := strings.NewReplacer(" ", "_", ",", "", "/", "-").Replace(row.name)
			for _, took := range row.rounds {
				fmt.Fprintf(&b, "Benchmark%s/%s 1 %d ns/op %d cpu-ns/op\n", strings.ToUpper(r.name[:1])+short(r.name[1:]),
					name, took.clock.Nanoseconds(), took.processor.Nanoseconds())
			}
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
