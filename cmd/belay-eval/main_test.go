package main

import (
	"os/exec"
	"strings"
	"testing"
)

// This program starts for events of an agent, and pays for its dependencies each time. What it leaves out
// is what `belay eval` stays for.
func TestWhatIsLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for p := range strings.Lines(string(out)) {
		for _, heavy := range []string{"github.com/sigstore/", "go.opentelemetry.io/", "google.golang.org/",
			"github.com/spf13/", "charm.land/", "oras.land/", "github.com/asaskevich/govalidator"} {
			if strings.HasPrefix(p, heavy) {
				t.Errorf("links %s", strings.TrimSpace(p))
			}
		}
	}
}
