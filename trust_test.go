package belay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

func signedFixture(name string) string {
	return filepath.Join("tiers", "sigstore", "testdata", "cosign", name)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// trustState is a state directory whose policy trusts the key c0, with a hook
// installed that c0 signed.
func trustState(t *testing.T, r install.Request) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeFile(t, filepath.Join(dir, config.FileName), config.Empty)
	writePolicy(t, dir, "")
	if r.File == nil {
		r.File = readFile(t, signedFixture("guard.wasm"))
		r.Evidence = []tiers.Evidence{{Kind: tiers.EvidenceBundle, Name: "guard.wasm.sigstore.json",
			Data: readFile(t, signedFixture("guard.c0.sigstore.json"))}}
	}
	if _, _, err := install.Hook(t.Context(), trust.Dir{Path: dir, Signatures: sigstore.New}, r); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writePolicy(t *testing.T, dir, deny string) {
	t.Helper()
	key := strings.ReplaceAll(string(readFile(t, signedFixture("c0.pub"))), "\n", "\n        ")
	writeFile(t, filepath.Join(dir, tiers.PolicyFile),
		"version: belay/v1\nrules:\n- name: release\n  allOf:\n  - publicKey:\n      pem: |\n        "+key+"\n"+deny)
}

// A revoked hook stops being trusted on a running belay, and its action is blocked.
func TestRevokedWhileRunning(t *testing.T) {
	key, err := tiers.ParseKey(readFile(t, signedFixture("c0.pub")))
	if err != nil {
		t.Fatal(err)
	}
	for name, deny := range map[string]string{
		"the file":            "deny: {digests: ['sha256:6e33aa72a6be274e0c22a03bca171026c5d27c5acbe4a991d4044fd522ab8094']}\n",
		"the key":             "deny: {keys: ['" + key.ID + "']}\n",
		"a broken policy":     "deny: {everything: true}\n",
		"the rule is limited": "  limits: {minimumVersion: 2.0.0}\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := trustState(t, install.Request{Priority: 150})
			b := open(t, dir, belay.Options{TrustPoll: 10 * time.Millisecond})
			v, err := b.Invoke(t.Context(), exec("ls"))
			if err != nil || len(v.Hooks) != 1 || v.Hooks[0].Tier != phases.Trusted || v.Kind != phases.KindPolicy {
				t.Fatalf("before: %+v, %v", v, err)
			}
			writePolicy(t, dir, deny)
			for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
				v, err = b.Invoke(t.Context(), exec("ls"))
				if v.Kind == phases.KindLoad {
					break
				}
				if time.Since(start) > 5*time.Second {
					t.Fatalf("still %s by %s after 5 s, %v", v.Decision, v.Kind, err)
				}
			}
			if v.Decision != phases.Block || len(v.Hooks) > 0 && v.Hooks[0].Tier == phases.Trusted {
				t.Errorf("after: %+v", v)
			}
			if s := b.Bindings()[0]; s.Problem == "" || s.Tier == phases.Trusted {
				t.Errorf("%+v", s)
			}
			// Taken back, it runs again.
			writePolicy(t, dir, "")
			for start := time.Now(); v.Kind != phases.KindPolicy; time.Sleep(5 * time.Millisecond) {
				if v, err = b.Invoke(t.Context(), exec("ls")); time.Since(start) > 5*time.Second {
					t.Fatalf("not back after 5 s: %+v, %v", v, err)
				}
			}
		})
	}
}

// The revision in verdicts and notices tells which trust policy decided.
func TestRevisionNamesTheTrustPolicy(t *testing.T) {
	dir := trustState(t, install.Request{})
	b := open(t, dir, belay.Options{TrustPoll: time.Hour})
	revisions := map[string]bool{}
	config := ""
	for _, c := range []struct{ deny, suffix string }{
		{"", "+sha256:"}, {"  limits: {minimumVersion: 2.0.0}\n", "+sha256:"}, {"deny: {everything: true}\n", "+unusable"},
		{"none", ""},
	} {
		if c.deny == "none" {
			if err := os.Remove(filepath.Join(dir, tiers.PolicyFile)); err != nil {
				t.Fatal(err)
			}
		} else {
			writePolicy(t, dir, c.deny)
		}
		if err := b.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, _ := b.Invoke(t.Context(), exec("ls")) // the decision does not matter here
		st, err := b.Status(t.Context())
		if err != nil || st.Revision != v.PolicyRevision {
			t.Errorf("the status says %s, the verdict %s (%v)", st.Revision, v.PolicyRevision, err)
		}
		text, trust, found := strings.Cut(v.PolicyRevision, "+")
		if config == "" {
			config = text
		}
		if text != config || found != (c.suffix != "") || found && !strings.HasPrefix("+"+trust, c.suffix) {
			t.Errorf("%q: %s", c.deny, v.PolicyRevision)
		}
		revisions[v.PolicyRevision] = true
	}
	if len(revisions) != 4 {
		t.Errorf("four policies, %d revisions: %v", len(revisions), revisions)
	}
	notices, err := b.Events(t.Context(), wire.Query{Type: phases.EventNotice})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range notices {
		delete(revisions, e.PolicyRevision)
	}
	if len(revisions) > 0 {
		t.Errorf("no notice of %v", revisions)
	}
}

// A key's window closes while belay runs, without an edit.
func TestWindowClosesWhileRunning(t *testing.T) {
	dir := trustState(t, install.Request{Tier: phases.Trusted})
	b := open(t, dir, belay.Options{TrustPoll: 10 * time.Millisecond})
	path := filepath.Join(dir, tiers.PolicyFile)
	src := string(readFile(t, path))
	writeFile(t, path, src+"\n    notAfter: "+time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)+"\n")
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		v, _ := b.Invoke(t.Context(), exec("ls"))
		if v.Kind == phases.KindLoad && strings.Contains(v.Reason, "bound as trusted") {
			break
		}
		if time.Since(start) > 6*time.Second {
			t.Fatalf("still %s: %s", v.Kind, v.Reason)
		}
	}
}

// What a binding relies on decides whether a hook that lost its signature may run on.
func TestSignatureLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		r      install.Request
		blocks bool
	}{
		{"nothing relied on it", install.Request{}, false},
		{"high priority", install.Request{Priority: 100}, true},
		{"bound as trusted", install.Request{Tier: phases.Trusted}, true},
		{"a power of trusted hooks",
			install.Request{File: readFile(t, signedFixture("minter.wasm")), Evidence: []tiers.Evidence{
				{Kind: tiers.EvidenceBundle, Name: "b", Data: readFile(t, signedFixture("minter.c0.sigstore.json"))}}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := trustState(t, c.r)
			if s := open(t, dir, belay.Options{}).Bindings()[0]; s.Tier != phases.Trusted || s.Problem != "" ||
				!strings.HasPrefix(s.Signer, "key:") {
				t.Fatalf("%+v", s)
			}
			stripped, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*.sigstore.json"))
			if err != nil || len(stripped) != 1 {
				t.Fatalf("%v %v", stripped, err)
			}
			if err := os.Remove(stripped[0]); err != nil {
				t.Fatal(err)
			}
			for _, o := range []belay.Options{{}, {NoHooks: true}} {
				s := open(t, dir, o).Bindings()[0]
				if (s.Problem != "") != c.blocks || s.Tier == phases.Trusted {
					t.Errorf("without hooks %v: %+v", o.NoHooks, s)
				}
				if c.blocks && !strings.Contains(s.Problem, "nothing vouches for it") {
					t.Errorf("the problem does not say why: %s", s.Problem)
				}
			}
			v, _ := open(t, dir, belay.Options{}).Invoke(t.Context(), exec("ls"))
			if (v.Kind == phases.KindLoad) != c.blocks {
				t.Errorf("%s (%s)", v.Decision, v.Kind)
			}
		})
	}
}

// UnsafeFailOpen lets no failure of trust pass.
func TestRevokedBlocksEvenFailOpen(t *testing.T) {
	dir := trustState(t, install.Request{})
	writePolicy(t, dir, "deny: {digests: ['sha256:6e33aa72a6be274e0c22a03bca171026c5d27c5acbe4a991d4044fd522ab8094']}\n")
	v, _ := open(t, dir, belay.Options{UnsafeFailOpen: true}).Invoke(t.Context(), exec("ls"))
	if v.Decision != phases.Block || v.Kind != phases.KindLoad {
		t.Errorf("%s %s", v.Decision, v.Kind)
	}
}

// The deny list holds for hooks that are given by hand, and for those that come
// with the binary.
func TestDeniedWithoutSignatures(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, config.FileName), config.Empty)
	byHand := belay.Options{Hooks: []belay.AdHocHook{{Path: signedFixture("guard.wasm"), Name: "by-hand"}}}
	if s := open(t, dir, byHand).Bindings()[0]; s.Problem != "" || s.Tier != phases.Sandboxed {
		t.Fatalf("%+v", s)
	}
	writePolicy(t, dir, "deny: {digests: ['sha256:6e33aa72a6be274e0c22a03bca171026c5d27c5acbe4a991d4044fd522ab8094']}\n")
	if s := open(t, dir, byHand).Bindings()[0]; !strings.Contains(s.Problem, "deny list") {
		t.Errorf("%+v", s)
	}

	writeFile(
		t,
		filepath.Join(dir, config.FileName),
		"version: belay/v1\nhooks:\n- {name: a, module: 'builtin:command-guard', capabilities: [block, request_approval, shell_parse, pattern_match], priority: 100, tier: trusted}\n",
	)
	s := open(t, dir, belay.Options{}).Bindings()[0]
	if s.Problem != "" || s.Tier != phases.Trusted {
		t.Fatalf("%+v", s)
	}
	writePolicy(t, dir, "deny: {digests: ['"+s.Digest+"']}\n")
	if s := open(t, dir, belay.Options{}).Bindings()[0]; !strings.Contains(s.Problem, "deny list") {
		t.Errorf("%+v", s)
	}
	// What a broken trust.yaml denies is not known, so that what comes with the binary cannot run either.
	writePolicy(t, dir, "x: y\n")
	if s := open(t, dir, belay.Options{}).Bindings()[0]; !strings.Contains(s.Problem, "/x: unknown member") {
		t.Errorf("%+v", s)
	}
}

// A running belay holds what comes with the binary against the last trust.yaml that could be read: a fault neither
// takes back a denial, nor stops what was not denied.
func TestBuiltinsUnderAPolicyThatBroke(t *testing.T) {
	const bound = "version: belay/v1\nhooks:\n" +
		"- {name: a, module: 'builtin:command-guard', capabilities: [block, request_approval, shell_parse, pattern_match]}\n"
	for _, denied := range []bool{false, true} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, config.FileName), bound)
		deny := "version: belay/v1\n"
		if denied {
			deny += "deny: {digests: ['" + open(t, dir, belay.Options{}).Bindings()[0].Digest + "']}\n"
		}
		writeFile(t, filepath.Join(dir, tiers.PolicyFile), deny)
		b := open(t, dir, belay.Options{TrustPoll: 10 * time.Millisecond})
		broken := func() bool { return strings.Contains(b.Bindings()[0].Problem, "deny list") }
		if broken() != denied {
			t.Fatalf("before: %+v", b.Bindings()[0])
		}
		writeFile(t, filepath.Join(dir, tiers.PolicyFile), deny+"x: y\n")
		for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			s, err := b.Status(t.Context())
			if err != nil || time.Since(start) > 10*time.Second {
				t.Fatalf("the fault is not seen: %+v, %v", s, err)
			}
			if v, _ := b.Invoke(t.Context(), exec("ls")); (v.Decision == phases.Block) != denied || broken() != denied {
				t.Fatalf("denied %v: %+v, %+v", denied, v, b.Bindings()[0])
			}
			if s.TrustProblem != "" && strings.HasSuffix(s.Revision, "+unusable") {
				break
			}
		}
	}
}
