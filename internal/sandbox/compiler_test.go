package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// The test binary is a compiler, too, and several bad ones.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if os.Args[1] == CompilerCommand {
			os.Exit(CompilerMain(os.Stdin, os.Stdout, os.Stderr))
		}
		if os.Args[1] == "compile-and-say-limit" {
			status := CompilerMain(os.Stdin, os.Stdout, os.Stderr)
			fmt.Fprint(os.Stderr, debug.SetMemoryLimit(-1))
			os.Exit(status)
		}
		if bad := badCompilers[os.Args[1]]; bad.main != nil {
			bad.main()
		}
	}
	os.Exit(m.Run())
}

// ownCompiler is this test binary as a compiler.
func ownCompiler(t testing.TB, mode string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, mode}
}

// honest compiles what stands in the request.
func honest(change func(code []byte) []byte) *compiledEntry {
	_, size, err := readLimits(os.Stdin)
	if err != nil {
		panic(err)
	}
	code := make([]byte, size)
	if _, err := io.ReadFull(os.Stdin, code); err != nil {
		panic(err)
	}
	e, err := compileHere(change(code))
	if err != nil {
		panic(err)
	}
	e.identity = identity(engineVersion())
	return e
}

func mustReadGuest() []byte {
	b, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	return b
}

func same(b []byte) []byte { return b }

func say(e *compiledEntry) {
	_, _ = os.Stdout.Write(answer(e))
	os.Exit(0)
}

// badCompilers hand back something else, or nothing, each with its error.
var badCompilers = map[string]struct {
	main func()
	want string
}{
	"bad-exit": {func() { fmt.Fprintln(os.Stderr, "no\x1b[31m luck"); os.Exit(3) }, `exit status 3: no\u{1b}[31m luck`},
	"bad-mute": {func() { os.Exit(4) }, "exit status 4"},
	"bad-memory": {func() { fmt.Fprint(os.Stderr, "runtime: out of memory\nmore"); os.Exit(2) },
		"MiB of memory that it may take, or is broken: runtime: out of memory"},
	"bad-panic": {func() { fmt.Fprint(os.Stderr, "fatal error\n\ngoroutine 1"); os.Exit(2) },
		"MiB of memory that it may take, or is broken: fatal error"},
	"bad-silent": {func() { os.Exit(0) }, "its answer cannot be read"},
	"bad-garbage": {func() { fmt.Print("belay compiled 1\n", strings.Repeat("\xff", 100)); os.Exit(0) },
		"its answer cannot be read"},
	"bad-more": {func() {
		_, _ = os.Stdout.Write(answer(honest(same)))
		fmt.Print("more")
		os.Exit(0)
	}, "4 bytes behind the code"},
	"bad-endless": {func() {
		for {
			if _, err := os.Stdout.Write(make([]byte, 1<<20)); err != nil {
				os.Exit(0)
			}
		}
	}, "in a process of its own failed"},
	"bad-version": {func() {
		e := honest(same)
		e.identity = identity("v9.9.9")
		say(e)
	}, "engine v9.9.9"},
	"bad-name": {func() {
		e := honest(same)
		e.name = "../../" + e.name[6:]
		say(e)
	}, "the name of the file"},
	"bad-module": {func() {
		e := honest(same)
		e.name = strings.Repeat("0", 64)
		say(e)
	}, "of another module"},
	"bad-stale": {func() {
		e := honest(same)
		e.content[7] ^= 1 // the engine would take it for that of another version, and compile
		say(e)
	}, "the engine's version is"},
	"bad-sum": {func() {
		e := honest(same)
		e.content[len(e.content)/2] ^= 1
		say(e)
	}, "its code is refused"},
	"bad-short": {func() {
		e := honest(same)
		e.content = e.content[:len(e.content)-3]
		say(e)
	}, "its code is refused"},
	"bad-count": {func() {
		e := honest(same)
		binary.LittleEndian.PutUint32(e.content[7+int(e.content[6]):], 0xffff_ffff)
		say(e)
	}, "functions, the module has"},
	"bad-offset": {func() {
		e := honest(same)
		binary.LittleEndian.PutUint64(e.content[7+int(e.content[6])+4:], 1<<40)
		say(e)
	}, "is at 1099511627776 of"},
	"bad-killed": {func() {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		time.Sleep(time.Hour)
	}, ""},
	"spoils": {func() { // what the code is to be put into, before it is handed back
		e := honest(same)
		spoilers[os.Args[2]](os.Args[3], e.name)
		say(e)
	}, ""},
	"bad-hang": {func() {
		_ = os.WriteFile("pid", []byte(strconv.Itoa(os.Getpid())), 0o600)
		time.Sleep(time.Hour)
	}, ""},
	"waits-for-one-that-hangs": {func() { // no compiler, but one who has one
		e, _ := Open(Options{Compiler: []string{os.Args[0], "bad-hang"}})
		_, _ = e.Load(context.Background(), mustReadGuest(), LoadOptions{})
	}, ""},
	"bad-busy": {func() {
		l, _, err := readLimits(os.Stdin)
		if err == nil && limitCompiler(l) == nil {
			for {
			}
		}
	}, ""},
	"bad-environment": {func() {
		wd, _ := os.Getwd()
		list, _ := os.ReadDir(wd)
		fmt.Fprintf(os.Stderr, "env %d dir %d", len(os.Environ()), len(list))
		os.Exit(1)
	}, "env 0 dir 0"},
}

// A module that is not trusted is compiled by the process and runs; so does what the
// cache holds afterwards, for which no process is started.
func TestCompilerProcess(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, name := range []string{"init_order", "guard", "traps"} {
		e := open(t, Options{Compiler: ownCompiler(t, CompilerCommand)})
		if !e.Isolated() {
			t.Fatal("not isolated")
		}
		m := load(t, e, guest(t, name))
		plain := load(t, open(t, Options{}), guest(t, name))
		a, b := run(t, m, RunRequest{Phase: phases.PreTool, Timeout: -1}, lsAction),
			run(t, plain, RunRequest{Phase: phases.PreTool, Timeout: -1}, lsAction)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %+v, compiled here %+v", name, a, b)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "belay-co*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCompilerProcessFillsTheCache(t *testing.T) {
	dir := cacheDir(t)
	var log bytes.Buffer
	with := func(mode string) *Engine {
		return open(t,
			Options{CacheDir: dir, CacheKey: cacheKey, Compiler: ownCompiler(t, mode),
				Logger: slog.New(slog.NewTextHandler(&log, nil)), engineVersion: "v0"})
	}
	load(t, with(CompilerCommand), guest(t, "guard"))
	if len(stamps(t, dir)) != 1 || log.Len() > 0 {
		t.Fatalf("%d entries: %s", len(stamps(t, dir)), log.String())
	}
	// From the cache, although this compiler hands back nothing.
	load(t, with("bad-exit"), guest(t, "guard"))
	// An entry that was tampered with is deleted, and the process asked again.
	path := entry(t, dir)
	b := read(t, path)
	b[len(b)/2] ^= 1
	write(t, path, b)
	if _, err := with("bad-exit").Load(t.Context(), guest(t, "guard"), LoadOptions{}); !errors.Is(err, ErrCompiler) {
		t.Fatal(err)
	}
	load(t, with(CompilerCommand), guest(t, "guard"))
	load(t, with("bad-exit"), guest(t, "guard"))
}

// When anything else comes back, the module does not load, this process does not compile it,
// and nothing of it is in the cache.
func TestCompilerProcessThatFails(t *testing.T) {
	for mode, bad := range badCompilers {
		if bad.want == "" {
			continue
		}
		for _, cached := range []bool{false, true} {
			dir := cacheDir(t)
			o := Options{Compiler: ownCompiler(t, mode), engineVersion: "v0"}
			if cached {
				o.CacheDir, o.CacheKey = dir, cacheKey
			}
			_, err := open(t, o).Load(t.Context(), guest(t, "guard"), LoadOptions{})
			var le *LoadError
			if !errors.As(err, &le) || le.Stage != StageCompile || le.Class != ErrCompiler ||
				!strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: %v, want %q", mode, err, bad.want)
			}
			if n := len(stamps(t, dir)); n > 0 {
				t.Errorf("%s: %d entries in the cache", mode, n)
			}
		}
	}
}

// This process compiles trusted modules itself; the other one is not asked.
func TestCompilerProcessIsNotForTheTrusted(t *testing.T) {
	e := open(t, Options{Compiler: ownCompiler(t, "bad-exit")})
	m, err := e.Load(t.Context(), guest(t, "guard"), LoadOptions{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// The process ends with the one who waits for it.
func TestCompilerProcessEndsWithItsCaller(t *testing.T) {
	e := open(t, Options{Compiler: ownCompiler(t, "bad-hang")})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	_, err := e.Load(ctx, guest(t, "guard"), LoadOptions{})
	if !errors.Is(err, ErrCanceled) {
		t.Fatal(err)
	}
	done, err := e.compileSlot(t.Context()) // the process is waited for before the next one starts
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// Where a module is not in the cache and this process may not compile it, nothing is
// compiled, however much there would be.
func TestTakeFromCompilesNothing(t *testing.T) {
	e := open(t, Options{Compiler: ownCompiler(t, "bad-exit")})
	file := divisions(t, 20_000)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	apart := allocated(func() {
		if _, err := e.Load(t.Context(), file, LoadOptions{}); !errors.Is(err, ErrCompiler) {
			t.Fatal(err)
		}
	})
	here := allocated(func() { load(t, open(t, Options{}), file) })
	if apart > here/4 {
		t.Errorf("%d bytes to find out that it is not there, %d to compile it", apart, here)
	}
}

// divisions is a hook with so many divisions, each of which needs the one before.
func divisions(t testing.TB, n int) []byte {
	t.Helper()
	m := reparse(t, caller(t, "pre_tool", false))
	var body []byte
	emit := func(in wasm.Instr) { body = wasm.AppendInstr(body, &in) }
	emit(wasm.Instr{Op: wasm.OpLocalGet})
	for range n {
		emit(wasm.Instr{Op: wasm.OpLocalGet, Index: 1})
		emit(wasm.Instr{Op: wasm.OpI64DivS})
	}
	emit(wasm.Instr{Op: wasm.OpI32WrapI64})
	emit(wasm.Instr{Op: wasm.OpEnd})
	m.Funcs[0].Locals = []wasm.LocalRun{{Count: 2, Type: wasm.I64}}
	m.Funcs[0].Body = body
	return encode(t, m)
}

func TestCompilerCommandIsChecked(t *testing.T) {
	for _, command := range [][]string{{"belay", CompilerCommand}, {"/bin/true", CompilerCommand}} {
		if _, err := Open(Options{Compiler: command}); err == nil {
			t.Errorf("%q was taken", command)
		}
	}
}

// The request and the answer are read strictly.
func FuzzCompilerAnswer(f *testing.F) {
	good := answer(&compiledEntry{identity: "engine", name: strings.Repeat("a", 64), content: []byte("code")})
	f.Add(good)
	f.Add(append(slices.Clone(good), 0))
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := readAnswer(b, 1<<10)
		if err == nil && !bytes.Equal(answer(e), b) {
			t.Fatal("two answers are read as one")
		}
		_ = checkEntry(b, "v1.12.0", 3)
	})
}

func FuzzCompilerRequest(f *testing.F) {
	f.Add(request([]byte("code"), AdHoc.compilerLimits()))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, size, err := readLimits(bytes.NewReader(b))
		if err != nil {
			return
		}
		if size > maxMetered || l.cpu == 0 || l.data == 0 {
			t.Fatal(l, size)
		}
	})
}
