package arch_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/arch"
)

// clients are what signing by certificate needs, and nothing else: an identity
// provider's page in a browser, the clients of services, key management, command lines.
var clients = []string{
	arch.Module + "/cmd/internal/signing",
	"github.com/pkg/browser",
	"github.com/sigstore/sigstore-go/pkg/sign",
	"github.com/sigstore/sigstore/pkg/oauthflow",
	"github.com/sigstore/sigstore/pkg/signature/kms",
	"github.com/spf13/cobra",
}

// verifying is what comes with verifying signatures, which is for those who ask for it.
var verifying = []string{
	arch.Module + "/cmd",
	arch.Module + "/tiers/sigstore",
	"github.com/go-openapi",
	"github.com/google/certificate-transparency-go",
	"github.com/sigstore",
	"github.com/theupdateframework",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
}

// A program that imports one of these packages does not link the listed ones.
func TestWhatIsNotLinked(t *testing.T) {
	for pkg, forbidden := range map[string][]string{
		"":               slices.Concat(clients, verifying),
		"guard":          slices.Concat(clients, verifying, []string{"github.com/ncruces"}),
		"harness":        slices.Concat(clients, verifying),
		"tiers/sigstore": clients,
	} {
		cmd := exec.Command("go", "list", "-deps", "./"+pkg)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		linked := strings.Fields(string(out))
		if len(linked) < 50 {
			t.Fatalf("%s: only %d packages were found: the check would prove nothing", pkg, len(linked))
		}
		for _, p := range linked {
			for _, f := range forbidden {
				if p == f || strings.HasPrefix(p, f+"/") {
					t.Errorf("./%s links %s", pkg, p)
				}
			}
		}
	}
}
