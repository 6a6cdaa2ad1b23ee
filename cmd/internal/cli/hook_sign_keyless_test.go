package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/cli"
	"github.com/belay-hooks/belay/cmd/internal/signing/sigstoretest"
)

// bench is a directory with a hook in it, a state directory, and a signing
// infrastructure on loopback.
type bench struct {
	t          *testing.T
	w          *sigstoretest.World
	dir, state string
}

func newBench(t *testing.T, opts ...sigstoretest.Option) *bench {
	t.Helper()
	b := &bench{t: t, w: sigstoretest.New(t, opts...), dir: t.TempDir(), state: t.TempDir()}
	module, err := os.ReadFile("../../../tiers/sigstore/testdata/cosign/guard.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"guard.wasm": module, "trusted_root.json": b.w.Root()} {
		if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// run runs a command, whose output must not show any of the secrets.
func (b *bench) run(want int, stdin, env string, secrets []string, args ...string) string {
	b.t.Helper()
	var out bytes.Buffer
	app := &cli.App{In: strings.NewReader(stdin), Out: &out, Err: &out, Getwd: func() (string, error) {
		return b.dir, nil
	},
		Getenv: func(name string) string {
			if name == "SIGSTORE_ID_TOKEN" {
				return env
			}
			return ""
		}}
	if code := app.Main(context.Background(), append(args, "--state", b.state)); code != want {
		b.t.Fatalf("belay %v: exit %d, want %d:\n%s", args[:2], code, want, out.String())
	}
	b.hidden("the output", out.String(), secrets)
	return out.String()
}

func (b *bench) hidden(what, text string, secrets []string) {
	b.t.Helper()
	for _, s := range secrets {
		for part := range strings.SplitSeq(s, ".") {
			if len(part) > 8 && strings.Contains(text, part) {
				b.t.Errorf("%s shows the token", what)
			}
		}
	}
}

func (b *bench) services() []string {
	return []string{"--fulcio-url", b.w.Fulcio.URL, "--rekor-url", b.w.Rekor.URL, "--timestamp-url", b.w.TSA.URL}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// files are the names in the directory.
func (b *bench) files() string {
	b.t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// From an identity token to a trusted hook, with each way to give the token.
func TestHookSignKeyless(t *testing.T) {
	b := newBench(t)
	token := b.w.Token(nil)
	if err := os.WriteFile(b.path("token.jwt"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{token}
	b.run(cli.ExitOK, "", "", nil, "init", "--empty")
	b.run(cli.ExitOK, "", "", nil, "trust", "init")
	sign := func(stdin, env, flag string, more ...string) string {
		t.Helper()
		args := append([]string{"hook", "sign", b.path("guard.wasm")}, append(b.services(), more...)...)
		if flag != "" {
			args = append(args, "--identity-token", flag)
		}
		return b.run(cli.ExitOK, stdin, env, secrets, args...)
	}
	out := sign("", "", "@"+b.path("token.jwt"), "--trusted-root", b.path("trusted_root.json"))
	for _, want := range []string{"guard.wasm.sigstore.json", "as      " + sigstoretest.Subject,
		"says    " + sigstoretest.Issuer, "logged  entry 1000"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if out := sign(token+"\n", "", "-", "--json"); !strings.Contains(out, `"identity":{"issuer":"`+sigstoretest.Issuer+
		`","subject":"`+sigstoretest.Subject+`"}`) || !strings.Contains(out, `"replaced":true`) {
		t.Errorf("%s", out)
	}
	// $SIGSTORE_ID_TOKEN
	if out := sign("", token, ""); !strings.Contains(out, "instead of what this identity had signed before") {
		t.Errorf("%s", out)
	}
	sign("", "not this one", token, "-o", b.path("other.json")) // the flag wins
	b.run(cli.ExitOK, "", token, secrets, "hook", "sign", b.path("guard.wasm"), "--no-log", "--fulcio-url", b.w.Fulcio.URL,
		"--timestamp-url", b.w.TSA.URL, "-o", b.path("nolog.json"))
	if got, want := b.files(),
		"guard.wasm guard.wasm.sigstore.json nolog.json other.json token.jwt trusted_root.json"; got != want {
		t.Errorf("%s", got)
	}
	for _, name := range []string{"guard.wasm.sigstore.json", "other.json", "nolog.json"} {
		src, err := os.ReadFile(b.path(name))
		if err != nil {
			t.Fatal(err)
		}
		b.hidden(name, string(src), secrets)
	}

	// Signed, but no rule trusts this identity yet.
	if out := b.run(cli.ExitError, "", "", secrets, "hook", "verify", b.path("guard.wasm")); !strings.Contains(out,
		"signer_not_trusted") {
		t.Errorf("%s", out)
	}
	b.run(cli.ExitOK, "", "", nil, "trust", "add-identity", "--trusted-root", b.path("trusted_root.json"), "--issuer",
		sigstoretest.Issuer, "--subject", sigstoretest.Subject, "--rule", "people")
	out = b.run(cli.ExitOK, "", "", secrets, "hook", "verify", b.path("guard.wasm"))
	for _, want := range []string{"tier      trusted", "signed by identity:" + sigstoretest.Subject,
		"rule      yes  people", "guard.wasm.sigstore.json: holds"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if out := b.run(cli.ExitOK, "", "", secrets, "hook", "install", b.path("guard.wasm"), "--trusted", "--priority",
		"150"); !strings.Contains(out, "guard is bound (trusted") {
		t.Errorf("%s", out)
	}
	// A signature that is in no log does not do where the policy wants a log.
	if err := os.Rename(b.path("guard.wasm"), b.path("alone.wasm")); err != nil {
		t.Fatal(err)
	}
	if out := b.run(cli.ExitError, "", "", secrets, "hook", "verify", b.path("alone.wasm"), "--bundle",
		b.path("nolog.json")); !strings.Contains(out, "signature_invalid") {
		t.Errorf("%s", out)
	}
	// Another identity signs next.
	mallory := b.w.Token(map[string]any{"email": "mallory@acme.example"})
	b.run(cli.ExitOK, mallory, "", []string{mallory},
		append([]string{"hook", "sign", b.path("alone.wasm"), "--identity-token", "-"}, b.services()...)...)
	if out := b.run(cli.ExitError, "", "", nil, "hook", "verify", b.path("alone.wasm")); !strings.Contains(out,
		"signer_not_trusted") {
		t.Errorf("%s", out)
	}
}

// A new signature takes the place of the identity's own, also after a new build; those of others stay.
func TestHookSignKeylessAgain(t *testing.T) {
	b := newBench(t)
	sign := func(claims map[string]any) string {
		t.Helper()
		return b.run(cli.ExitOK, b.w.Token(claims), "", nil,
			append([]string{"hook", "sign", b.path("guard.wasm"), "--identity-token", "-"}, b.services()...)...)
	}
	sign(nil)
	first, err := os.ReadFile(b.path("guard.wasm.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	if out := sign(map[string]any{"email": "mallory@acme.example"}); !strings.Contains(out, "guard.wasm.1.sigstore.json") {
		t.Errorf("another identity: %s", out)
	}
	other, err := os.ReadFile(b.path("guard.wasm.1.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../../internal/fuzz/testdata/planted/sound.wasm") // a new build
	if err == nil {
		err = os.WriteFile(b.path("guard.wasm"), module, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	sign(nil)
	if got, want := b.files(), "guard.wasm guard.wasm.1.sigstore.json guard.wasm.sigstore.json trusted_root.json"; got != want {
		t.Errorf("%s", got)
	}
	if now, err := os.ReadFile(b.path("guard.wasm.sigstore.json")); err != nil || bytes.Equal(now, first) {
		t.Errorf("the earlier signature is still there, %v", err)
	}
	if now, err := os.ReadFile(b.path("guard.wasm.1.sigstore.json")); err != nil || !bytes.Equal(now, other) {
		t.Errorf("the other identity's signature is another one, %v", err)
	}
}

// Whatever goes wrong, no file is left, the token is not shown, and the message says
// what to do.
func TestHookSignKeylessFailures(t *testing.T) {
	answer := func(status int, body string) sigstoretest.Wrap {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) // closing waits for an unread body
				rw.WriteHeader(status)
				io.WriteString(rw, body+r.Header.Get("Authorization"))
			})
		}
	}
	whole := newBench(t)
	good := whole.w.Token(nil)
	ending := newBench(t, sigstoretest.WrapRekor(answer(500, "")))
	garbage := newBench(t, sigstoretest.WrapFulcio(answer(200, "hello ")))
	for _, c := range []struct {
		name       string
		b          *bench
		stdin, env string
		args       []string // $SERVICES stands for those of b
		exit       int
		says       string
		secret     string
	}{
		{"expired token", whole, whole.w.Token(map[string]any{"exp": time.Now().Add(-time.Second).Unix()}), "",
			[]string{"--identity-token", "-", "$SERVICES"}, cli.ExitError, "expired", ""},
		{"wrong audience", whole, whole.w.Token(map[string]any{"aud": "kubernetes"}), "",
			[]string{"--identity-token", "-", "$SERVICES"}, cli.ExitError, "[token_invalid]", ""},
		{"not a JWT", whole, "correct-horse-battery-staple", "", []string{"--identity-token", "-", "$SERVICES"},
			cli.ExitError, "[token_invalid]", ""},
		{"empty standard input", whole, "", "", []string{"--identity-token", "-", "$SERVICES"}, cli.ExitError, "empty", ""},
		{"too long a standard input", whole, strings.Repeat("a", 1<<20), "", []string{"--identity-token", "-", "$SERVICES"},
			cli.ExitError, "larger", ""},
		{"not a JWT in the environment", whole, "", "correct-horse-battery-staple", []string{"$SERVICES"}, cli.ExitError,
			"[token_invalid]", ""},
		{"the token for the name of a file", whole, "", "", []string{"--identity-token", "@" + good, "$SERVICES"},
			cli.ExitError, "cannot be read", good},
		{"a token by another provider", whole, ending.w.Token(nil), "",
			[]string{"--identity-token", "-", "$SERVICES"}, cli.ExitError, "status 400", ""},
		{"status 500", ending, ending.w.Token(nil), "", []string{"--identity-token", "-", "$SERVICES"}, cli.ExitError,
			"status 500 [service_failed]", ""},
		{"garbage", garbage, garbage.w.Token(nil), "", []string{"--identity-token", "-", "$SERVICES"}, cli.ExitError,
			"[service_failed]", ""},
		{"plain http", whole, good, "",
			[]string{"--identity-token", "-", "--fulcio-url", "http://fulcio.example", "--rekor-url", "https://rekor.example"},
			cli.ExitError, "[endpoint_invalid]", ""},
		{"no authority", whole, good, "", []string{"--identity-token", "-", "--rekor-url", "https://rekor.example"},
			cli.ExitUsage, "--fulcio-url", ""},
		{"no log", whole, good, "", []string{"--identity-token", "-", "--fulcio-url", "https://fulcio.example"},
			cli.ExitUsage, "--rekor-url", ""},
		{"nothing proves the time", whole, good, "",
			[]string{"--identity-token", "-", "--fulcio-url", "https://fulcio.example", "--no-log"}, cli.ExitUsage,
			"--timestamp-url", ""},
		{"a log and no log", whole, good, "", []string{"--identity-token", "-", "$SERVICES", "--no-log"}, cli.ExitUsage,
			"exclude", ""},
		{"no token", whole, "", "", []string{"$SERVICES"}, cli.ExitUsage, "identity token", ""},
		{"a key as well", whole, good, "", []string{"--identity-token", "-", "--key", "k.key", "$SERVICES"}, cli.ExitUsage,
			"exclude", ""},
		{"a root that is none", whole, good, "",
			[]string{"--identity-token", "-", "--trusted-root", whole.path("guard.wasm"), "$SERVICES"}, cli.ExitError,
			"trusted root", ""},
		{"the root of another service", whole, good, "",
			[]string{"--identity-token", "-", "--trusted-root", ending.path("trusted_root.json"), "$SERVICES"}, cli.ExitError,
			"trusted root", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.b.t = t
			before := c.b.files()
			args := []string{"hook", "sign", c.b.path("guard.wasm")}
			for _, a := range c.args {
				if a == "$SERVICES" {
					args = append(args, c.b.services()...)
				} else {
					args = append(args, a)
				}
			}
			out := c.b.run(c.exit, c.stdin, c.env, []string{c.stdin, c.env, c.secret}, args...)
			if !strings.Contains(out, c.says) {
				t.Errorf("no %q in:\n%s", c.says, out)
			}
			if after := c.b.files(); after != before {
				t.Errorf("files: %s", after)
			}
		})
	}
}
