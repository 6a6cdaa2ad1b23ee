//go:build unix

package cli_test

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client"
)

// A caller that sends its token without TLS shows in status and doctor.
func TestPlainCallersShow(t *testing.T) {
	dir, err := os.MkdirTemp("", "belay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if out, err := exec.Command("belay", "--state", dir, "init").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := serveProcess(t, dir, "--listen", "127.0.0.1:0")
	status, _ := p.belay(t, "status")
	addr := regexp.MustCompile(`https://(127\.0\.0\.1:[0-9]+)`).FindStringSubmatch(status)
	if addr == nil || strings.Contains(status, "WITHOUT TLS") {
		t.Fatalf("status: %s", status)
	}
	if out, _ := p.belay(t, "doctor"); strings.Contains(out, "plain HTTP") {
		t.Errorf("doctor: %s", out)
	}
	token, err := client.ReadToken(dir, client.RoleReview)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr[1]+"/v1/hooks", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	if out, _ := p.belay(t, "status"); !strings.Contains(out, "1 request WITHOUT TLS") {
		t.Errorf("status: %s", out)
	}
	if out, _ := p.belay(t, "doctor"); !strings.Contains(out, "plain HTTP     1 request came without TLS") {
		t.Errorf("doctor: %s", out)
	}
}
