package systemtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// asksModel binds a hook that asks a model about each message, over HTTP.
const asksModel = `version: belay/v1
hooks:
  - name: classify
    module: builtin:classify-by-model
    capabilities: [http_request, annotate]
    config: {url: "URL", otherwise: none}
    http: {hosts: ["HOST"], methods: [POST]}
`

// A hook's requests go where root's file says, and to addresses of this machine only where it names the address itself:
// not by a name, and not by what a user adds.
func TestRequestsOfHooksHaveAListOfTheirOwn(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	var hits atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"easy"}}]}`))
	}))
	defer inside.Close()
	address := strings.TrimPrefix(inside.URL, "http://")
	port := address[strings.LastIndexByte(address, ':'):]
	m := newMachine(t)
	m.must(os.WriteFile(m.path("etc/hosts"), []byte("127.0.0.1 inside.example\n"), 0o644))
	m.install(systemYAML, "version: belay/v1\n")
	bind := func(url, host string) {
		m.must(os.WriteFile(m.path("etc/belay/belay.yaml"),
			[]byte(strings.NewReplacer("URL", url+"/v1/chat/completions", "HOST", host).Replace(asksModel)), 0o644))
	}
	// class is what the hook made of a message: what the model said, or none.
	class := func(message string) string {
		b, err := json.Marshal(map[string]string{"session_id": message, "transcript_path": "/t", "cwd": "/",
			"hook_event_name": "UserPromptSubmit", "prompt": message})
		m.must(err)
		_, _, _ = m.as(alice, string(b), "/usr/local/bin/belay-hook", "--runtime", "claude-code")
		out, _, _ := m.as(alice, "", "/usr/local/bin/belay", "events", "query", "--json")
		for line := range strings.Lines(out) {
			if _, output, ok := strings.Cut(line, `"output":`); ok && strings.Contains(line, message) {
				for _, c := range []string{"easy", "none"} {
					if strings.Contains(output, `"class":{"value":"`+c+`"`) {
						return c
					}
				}
			}
		}
		return out
	}
	bind("http://inside.example"+port, "http://inside.example"+port)
	m.start()
	if got := class("by a name that leads inside"); got != "none" || hits.Load() != 0 {
		t.Errorf("by a name that leads inside: %s, %d requests\n%s", got, hits.Load(), m.log)
	}
	layer := strings.NewReplacer("URL", inside.URL, "HOST", inside.URL, "classify\n", "user-classify\n").Replace(asksModel)
	out, errs, code := m.as(alice, layer, "/usr/local/bin/belay", "config", "user", "-")
	if code != 1 || !strings.Contains(out+errs, "user.yaml:") {
		t.Errorf("alice opens it for a hook of hers: %d %s%s", code, out, errs)
	}
	bind(inside.URL, "models.example:443")
	time.Sleep(2500 * time.Millisecond) // until the daemon has the file
	if got := class("to a host that is not listed"); got != "none" || hits.Load() != 0 {
		t.Errorf("to a host that is not listed: %s, %d requests", got, hits.Load())
	}
	bind(inside.URL, inside.URL)
	got := ""
	for end := time.Now().Add(10 * time.Second); got != "easy" &&
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		got = class("named " + strconv.FormatInt(time.Now().UnixNano(), 10))
	}
	if got != "easy" || hits.Load() != 1 {
		t.Errorf("where root names the address: %s, %d requests\n%s", got, hits.Load(), m.log)
	}
	m.stop(syscall.SIGTERM)
}
