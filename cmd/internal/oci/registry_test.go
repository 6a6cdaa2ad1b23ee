package oci

import (
	"os"
	"strings"
	"testing"
)

// TestRealRegistry talks to the registry that `make test-registry` has started;
// $BELAY_TEST_REGISTRY is its host:port, and $BELAY_TEST_REGISTRY_AUTH that of a
// second one which wants the name and password of $BELAY_TEST_DOCKER_CONFIG.
func TestRealRegistry(t *testing.T) {
	host := os.Getenv("BELAY_TEST_REGISTRY")
	if host == "" {
		t.Skip("needs a registry: make test-registry")
	}
	t.Run("open", func(t *testing.T) {
		roundTrip(t, Options{}, Reference{Host: host, Repo: "real/" + strings.ToLower(t.Name()), Tag: "1.0"})
	})
	closed := Reference{Host: os.Getenv("BELAY_TEST_REGISTRY_AUTH"), Repo: "real/closed", Tag: "1.0"}
	t.Run("with a password", func(t *testing.T) {
		roundTrip(t, Options{AuthFile: os.Getenv("BELAY_TEST_DOCKER_CONFIG")}, closed)
	})
	t.Run("without its password", func(t *testing.T) {
		_, err := pull(Options{}, closed)
		wantClass(t, err, ErrAuth, "none are known")
		_, err = pull(Options{AuthFile: dockerConfig(t, closed.Host)}, closed)
		wantClass(t, err, ErrAuth, "401")
	})
}
