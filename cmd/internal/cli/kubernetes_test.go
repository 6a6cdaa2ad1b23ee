//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// kubernetesFile decodes the first document of a file of the example in deploy/kubernetes.
func kubernetesFile(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(top, "deploy", "kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	b, _, _ = bytes.Cut(b, []byte("\n---\n"))
	d, err := strictyaml.Parse(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := json.Unmarshal(d.JSON, into); err != nil { // the module testdata/kubernetes decodes it strictly
		t.Fatalf("%s: %v", name, err)
	}
}

// example is what of the objects counts here.
type example struct {
	Data       map[string]string `json:"data"`
	StringData map[string]string `json:"stringData"`
	Spec       struct {
		Template struct {
			Spec struct {
				InitContainers []exampleContainer `json:"initContainers"`
				Containers     []exampleContainer `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

type exampleContainer struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
}

// The scripts of the Kubernetes example bring belay.yaml, the login and the agent's files to where belay and belay-hook
// take them: with the owner and the mode that they demand. belay.yaml is one of this belay, and names the pod.
func TestKubernetesScripts(t *testing.T) {
	var config1, secret example
	kubernetesFile(t, "configmap.yaml", &config1)
	kubernetesFile(t, "secret.yaml", &secret)
	root := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	write := func(text string, parts ...string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(parts...)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(parts...), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range config1.Data {
		write(text, "etc/belay/config", name)
	}
	for name, text := range secret.StringData {
		write(text, "etc/belay/logins", name)
	}
	for _, dir := range []string{"var/lib/belay", "var/run/belay", "connect", "run/connect"} {
		if err := os.MkdirAll(at(dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write("a certificate", "var/lib/belay/state/keys/tls.crt")
	write("a token", "var/lib/belay/state/keys/invoke.token")
	if err := os.Chmod(at("var/lib/belay/state"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) {
		t.Helper()
		// The places of the pod lie below root here, and the loop runs once.
		text := strings.NewReplacer("/var/", root+"/var/", "/etc/", root+"/etc/", "/connect/", root+"/connect/",
			"/run/connect/", root+"/run/connect/", "sleep 5", "exit 0").Replace(config1.Data[name])
		write(text, name)
		cmd := exec.Command("sh", append([]string{at(name)}, args...)...)
		cmd.Env = append(os.Environ(), "POD_NAME=build-agent-1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	run("files.sh")
	run("files.sh") // and again, when nothing has changed
	run("connect.sh", "true")
	for name, want := range map[string]os.FileMode{"var/lib/belay/state/belay.yaml": 0o600, "var/run/belay/dsn": 0o600,
		"connect/url": 0o640, "connect/tls.crt": 0o640, "connect/invoke.token": 0o640, "run/connect/belay/url": 0o600,
		"run/connect/belay/tls.crt": 0o600, "run/connect/belay/invoke.token": 0o600, "run/connect/belay": 0o700,
		"var/lib/belay/marks": 0o700} {
		info, err := os.Stat(at(name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", name, info, err, want)
		}
	}
	src, err := os.ReadFile(at("var/lib/belay/state/belay.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := config.Parse(src)
	if err != nil {
		t.Fatalf("belay.yaml: %v", err)
	}
	if pg := file.Central(); pg == nil || pg.Kernel != "build-agent-1" || pg.DSNFile != "/var/run/belay/dsn" {
		t.Errorf("store: %+v", pg)
	}
	dsn, err := os.ReadFile(at("var/run/belay/dsn"))
	if err != nil || !strings.Contains(string(dsn), "build_agent_1:") {
		t.Errorf("the login of the pod: %q, %v", dsn, err)
	}
}
