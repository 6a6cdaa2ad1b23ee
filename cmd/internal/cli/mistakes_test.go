package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/belay-hooks/belay/cmd/internal/cli"
)

var updateMistakes = flag.Bool("update-mistakes", false, "write what the mistakes of testdata/mistakes give anew")

// Each file of testdata/mistakes is one mistake that people make: files, commands that come before, and the mistake, as
// the last command. Its member "output" is what belay says to that. Its first lines name who makes the mistake, and
// which words of the message say what is wrong, where, and what to do next.
//
//	belay ARGS…            a command; only the last one may fail
//	stdin FILE             what the next command reads
//	copy FROM TO           $EXAMPLES, $SIGNED and $PLANTED are files of this repository
//	bytes FILE "TEXT"      a file from a Go string, for what a text file cannot hold
//	repeat FILE N TEXT     a file that is long
//	wat FILE.wat FILE.wasm what wat2wasm makes of it
//	only REGEX             of what the command says only these lines count
//	taken                  a port of this machine that another program holds, $TAKEN
//	refusing               a registry that refuses everything, $REFUSING
//	registry               one that does not, $REGISTRY
func TestMistakes(t *testing.T) {
	paths, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(paths) < 60 {
		t.Fatalf("%d mistakes, %v", len(paths), err)
	}
	places := map[string]string{}
	for name, rel := range map[string]string{"EXAMPLES": "examples-wasm", "SIGNED": "tiers/sigstore/testdata/cosign",
		"PLANTED": "internal/fuzz/testdata/planted"} {
		if places[name], err = filepath.Abs(filepath.Join("..", "..", "..", rel)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if path, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			m := &mistake{T: t, env: map[string]string{}}
			for name, dir := range places {
				m.env[name] = dir
			}
			m.run(path, archive)
		})
	}
}

// mistake is one of them while it is made.
type mistake struct {
	*testing.T
	env   map[string]string
	said  string // what the last command wrote
	stdin string // the file that the next one reads
	only  string // which lines of what it writes count
}

func (m *mistake) run(path string, archive *txtar.Archive) {
	m.Helper()
	work, err := filepath.EvalSymlinks(m.TempDir())
	if err != nil {
		m.Fatal(err)
	}
	m.env["WORK"], m.env["BELAY_HOME"] = work, filepath.Join(work, "state")
	m.Chdir(work)
	m.Setenv("HOME", filepath.Join(work, "home"))
	golden := -1
	for i, f := range archive.Files {
		if f.Name == "output" {
			golden = i
			continue
		}
		m.write(f.Name, f.Data)
	}
	header := map[string]string{}
	code := cli.ExitOK
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if key, text, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": "); ok && strings.HasPrefix(line, "# ") {
			header[key] = text
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if code != cli.ExitOK {
			m.Fatalf("a command before the last one failed:\n%s", m.said)
		}
		code = m.do(words(line))
	}
	if code == cli.ExitOK {
		m.Fatalf("the mistake succeeds:\n%s", m.said)
	}
	got := fmt.Sprintf("%sexit %d\n", m.plain(m.said), code)
	if *updateMistakes {
		file := txtar.File{Name: "output", Data: []byte(got)}
		if golden < 0 {
			archive.Files = append(archive.Files, file)
		} else {
			archive.Files[golden] = file
		}
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			m.Fatal(err)
		}
	} else if golden < 0 || string(archive.Files[golden].Data) != got {
		m.Errorf("the message is another one (go test ./cmd/internal/cli -run TestMistakes -update-mistakes writes it):\n%s", got)
	}
	m.teaches(header, got)
}

// What no message shows: names of types, stacks, values that were printed by mistake.
var slips = regexp.MustCompile(`\*?\b(?:fs|os|json|yaml|net|http|url|errors|fmt|exec|tiers|phases|kernel|config|loader|rules)\.` +
	`[A-Z]\w+\b|goroutine |panic|%!|<nil>|&\{|map\[|0x[0-9a-f]{6,}`)

const (
	mostLines = 12
	mostWidth = 500
)

// teaches checks the form of a message.
func (m *mistake) teaches(header map[string]string, got string) {
	m.Helper()
	for _, part := range []string{"what", "where", "next"} {
		if text := header[part]; text == "" || !strings.Contains(got, text) {
			m.Errorf("%q, which says %s, is not in the message:\n%s", text, part, got)
		}
	}
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) > mostLines {
		m.Errorf("%d lines:\n%s", len(lines), got)
	}
	for _, line := range lines {
		if slip := slips.FindString(line); slip != "" {
			m.Errorf("%q in: %s", slip, line)
		}
		if len(line) > mostWidth {
			m.Errorf("%d bytes in a line: %s", len(line), line)
		}
		if strings.HasSuffix(line, ": invalid argument") {
			m.Errorf("it does not say which argument: %s", line)
		}
		if n := depth(line); n > 3 {
			m.Errorf("%d errors one in the other: %s", n, line)
		}
	}
}

var (
	place  = regexp.MustCompile(`^(evidence |ERROR )? *\S+\.\w+(:\d+)*: |\S+\.\w+(:\d+)+: |/[\w/~]*: |at byte \d+: `)
	quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^']*'|\\([^)]*\\)")
)

// depth is how many errors stand in each other; places and quotations are none.
func depth(line string) int {
	line = strings.TrimPrefix(line, "belay: ")
	return 1 + strings.Count(place.ReplaceAllString(quoted.ReplaceAllString(line, "q"), ""), ": ")
}

// do carries out one line, and returns a command's exit status.
func (m *mistake) do(args []string) int {
	m.Helper()
	for i := range args {
		args[i] = os.Expand(args[i], func(name string) string { return m.env[name] })
	}
	switch verb, args := args[0], args[1:]; verb {
	case "belay":
		return m.belay(args)
	case "stdin":
		m.stdin = args[0]
	case "only":
		m.only = args[0]
	case "env":
		m.env[args[0]] = args[1]
	case "mkdir":
		if err := os.MkdirAll(args[0], 0o700); err != nil {
			m.Fatal(err)
		}
	case "copy":
		b, err := os.ReadFile(args[0])
		if err != nil {
			m.Fatal(err)
		}
		m.write(args[1], b)
	case "bytes":
		text, err := strconv.Unquote(`"` + args[1] + `"`)
		if err != nil {
			m.Fatal(err)
		}
		m.write(args[0], []byte(text))
	case "repeat":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			m.Fatal(err)
		}
		m.write(args[0], bytes.Repeat([]byte(args[2]), n))
	case "wat":
		if out, err := exec.Command("wat2wasm", args[0], "-o", args[1]).CombinedOutput(); err != nil {
			m.Fatalf("wat2wasm: %v: %s", err, out)
		}
	case "taken":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			m.Fatal(err)
		}
		m.Cleanup(func() { l.Close() })
		m.env["TAKEN"] = l.Addr().String()
	case "refusing":
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusForbidden)
		}))
		m.Cleanup(srv.Close)
		m.env["REFUSING"] = srv.Listener.Addr().String()
	case "remove":
		if err := os.RemoveAll(args[0]); err != nil {
			m.Fatal(err)
		}
	case "registry":
		srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
		m.Cleanup(srv.Close)
		m.env["REGISTRY"] = srv.Listener.Addr().String()
	default:
		m.Fatalf("there is no %q in a mistake", verb)
	}
	return cli.ExitOK
}

// belay runs a command as the program does.
func (m *mistake) belay(args []string) int {
	m.Helper()
	var in, out, errs bytes.Buffer
	if m.stdin != "" {
		b, err := os.ReadFile(m.stdin)
		if err != nil {
			m.Fatal(err)
		}
		in.Write(b)
		m.stdin = ""
	}
	app := &cli.App{In: &in, Out: &out, Err: &errs, Getenv: func(name string) string { return m.env[name] },
		Geteuid: func() int { return 1000 }}
	code := app.Main(m.Context(), args)
	if m.said = errs.String(); m.said == "" {
		m.said = out.String() // where the answer itself says it
	}
	if m.only != "" {
		m.said = strings.Join(regexp.MustCompile("(?m)(?:"+m.only+").*\n").FindAllString(out.String(), -1), "")
	}
	return code
}

func (m *mistake) write(name string, data []byte) {
	m.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		m.Fatal(err)
	}
}

// plain takes out of a message what differs from machine to machine and from run to run.
func (m *mistake) plain(text string) string {
	for _, name := range []string{"EXAMPLES", "SIGNED", "PLANTED", "WORK", "TAKEN", "REFUSING", "REGISTRY"} {
		if value := m.env[name]; value != "" {
			text = strings.ReplaceAll(text, value, "$"+name)
		}
	}
	for _, c := range []struct{ from, to string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`, "ID"},
		{`sha256:[0-9a-f]{64}`, "sha256:DIGEST"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`, "TIME"},
	} {
		text = regexp.MustCompile(c.from).ReplaceAllString(text, c.to)
	}
	return text
}

// words splits a line at blanks; what stands in single quotes is one word.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
