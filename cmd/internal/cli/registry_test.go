package cli_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts of testdata/registry have $REGISTRY, with and without the referrers
// API, and $SIGNED, the directory with hooks that the real cosign has signed.
func TestRegistryScripts(t *testing.T) {
	for name, referrers := range map[string]bool{"referrers": true, "fallback": false} {
		t.Run(name, func(t *testing.T) {
			registryScripts(t, "registry", func(env *testscript.Env) string {
				srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)),
					registry.WithReferrersSupport(referrers)))
				env.Defer(srv.Close)
				return srv.Listener.Addr().String()
			})
		})
	}
}

// TestRealRegistryScripts does the same with the registry of `make test-registry`.
func TestRealRegistryScripts(t *testing.T) {
	host := os.Getenv("BELAY_TEST_REGISTRY")
	if host == "" {
		t.Skip("needs a registry: make test-registry")
	}
	registryScripts(t, "registry", func(*testscript.Env) string { return host })
}

// TestRealRegistryCosign has the real cosign sign in the real registry, and look at
// what belay put into another one; $BELAY_COSIGN is the program.
func TestRealRegistryCosign(t *testing.T) {
	host, cosign := os.Getenv("BELAY_TEST_REGISTRY"), os.Getenv("BELAY_COSIGN")
	if host == "" || cosign == "" {
		t.Skip("needs a registry and cosign: BELAY_COSIGN=/path/to/cosign make test-registry")
	}
	registryScripts(t, "registry_cosign", func(env *testscript.Env) string {
		env.Setenv("COSIGN", cosign)
		env.Setenv("COSIGN_PASSWORD", "pw")
		return host
	})
}

func registryScripts(t *testing.T, dir string, start func(*testscript.Env) string) {
	signed, err := filepath.Abs("../../../tiers/sigstore/testdata/cosign")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SIGNED", signed)
			env.Setenv("REGISTRY", start(env))
			env.Setenv("REPO", "scripts/"+filepath.Base(env.WorkDir))
			env.Setenv("BELAY_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
		},
	})
}
