package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/cli"
	"github.com/belay-hooks/belay/cmd/internal/signing/sigstoretest"
)

// TestRealCosignKeyless has the real cosign verify what belay signed keyless, and sign
// keyless with the same services what belay then verifies; $BELAY_COSIGN is the program
// (make test-cosign).
func TestRealCosignKeyless(t *testing.T) {
	program := os.Getenv("BELAY_COSIGN")
	if program == "" {
		t.Skip("needs cosign: make test-cosign")
	}
	b := newBench(t)
	cosign := func(ok bool, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); (err == nil) != ok {
			t.Fatalf("cosign %s: %v\n%s", args[0], err, out)
		}
	}
	verify := func(ok bool, file, subject string) {
		t.Helper()
		cosign(ok, "verify-blob", "--bundle", "guard.wasm.sigstore.json", "--trusted-root", "trusted_root.json",
			"--use-signed-timestamps",
			"--certificate-identity", subject, "--certificate-oidc-issuer", sigstoretest.Issuer, file)
	}
	token := b.w.Token(nil)
	b.run(cli.ExitOK, token, "", []string{token},
		append([]string{"hook", "sign", b.path("guard.wasm"), "--identity-token", "-", "--trusted-root",
			b.path("trusted_root.json")}, b.services()...)...)
	verify(true, "guard.wasm", sigstoretest.Subject)
	verify(false, "guard.wasm", "mallory@acme.example")
	verify(false, "trusted_root.json", sigstoretest.Subject)

	b.run(cli.ExitOK, "", "", nil, "init", "--empty")
	b.run(cli.ExitOK, "", "", nil, "trust", "add-identity", "--trusted-root", b.path("trusted_root.json"), "--issuer",
		sigstoretest.Issuer, "--subject", sigstoretest.Subject)
	if err := os.Remove(b.path("guard.wasm.sigstore.json")); err != nil {
		t.Fatal(err)
	}
	b.run(cli.ExitError, "", "", nil, "hook", "verify", b.path("guard.wasm"))
	service := func(url string) string {
		return "url=" + url + ",api-version=1,start-time=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) +
			",operator=acme.example"
	}
	cosign(true, "signing-config", "create", "--fulcio="+service(b.w.Fulcio.URL), "--rekor="+service(b.w.Rekor.URL),
		"--rekor-config=ANY",
		"--tsa="+service(b.w.TSA.URL), "--tsa-config=ANY", "--out=sc.json")
	if err := os.WriteFile(b.path("token.jwt"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	cosign(true, "sign-blob", "--signing-config", "sc.json", "--trusted-root", "trusted_root.json", "--identity-token",
		"token.jwt", "--bundle", "guard.wasm.sigstore.json", "-y", "guard.wasm")
	if out := b.run(cli.ExitOK, "", "", nil, "hook", "verify", b.path("guard.wasm")); !strings.Contains(out,
		"tier      trusted") {
		t.Errorf("%s", out)
	}
}
