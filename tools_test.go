package belay_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// toolFunc is an executor with one tool for everything.
type toolFunc func(context.Context, kernel.ToolCall) (kernel.ToolResult, error)

func (f toolFunc) Tools(context.Context) ([]kernel.ToolInfo, error) { return nil, nil }
func (f toolFunc) Call(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	return f(ctx, c)
}

// calling is a real module that makes one call and notes the answer.
func calling(call, request string) belay.AdHocHook {
	return belay.AdHocHook{Name: "caller", Path: filepath.Join("testdata", "calls", call+".wasm"),
		Config: jsontext.Value(`{"request":` + request + `}`)}
}

// noted returns what the module was answered.
func noted(v phases.Verdict) (code, reply string) {
	return string(v.Metadata["code"].Value), string(v.Metadata["reply"].Value)
}

func TestToolCallFromAModule(t *testing.T) {
	b := open(t, t.TempDir(), belay.Options{
		Hooks: []belay.AdHocHook{calling("request_tool_call", `{"tool":"lookup","args":{"q":"x"}}`),
			{Path: example("command-guard")}},
		Tools: toolFunc(func(_ context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
			return kernel.ToolResult{Result: jsontext.Value(`{"found":["` + c.Tool +
				`"],"api_key":"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}`)}, nil
		}),
	})
	v := invoke(t, b, exec("ls"))
	code, reply := noted(v)
	if code != "0" || !strings.Contains(reply, `"outcome":"ok"`) ||
		!strings.Contains(reply, `{"found":["lookup"],"api_key":"[redacted`) || strings.Contains(reply, "16C7e42F292c") {
		t.Errorf("code %s, reply %s", code, reply)
	}
	paid := v.Hooks[slicesIndex(v.Hooks, "caller")].Fuel
	// Without an executor the call is not available.
	b = open(t, t.TempDir(), belay.Options{Hooks: []belay.AdHocHook{calling("request_tool_call", `{"tool":"lookup"}`)}})
	v = invoke(t, b, exec("ls"))
	if code, _ := noted(v); code != "-7" {
		t.Errorf("code %s", code)
	}
	if fuel := v.Hooks[slicesIndex(v.Hooks, "caller")].Fuel; paid < fuel+1000 {
		t.Errorf("the hook paid %d fuel with a call that ran hooks, %d without one", paid, fuel)
	}
}

func slicesIndex(list []phases.HookReport, name string) int {
	for i, r := range list {
		if r.Hook == name {
			return i
		}
	}
	return -1
}

// A process that is killed in the middle of a call leaves an intent; the next one
// that opens the directory says that its outcome is unknown.
func TestKilledInTheMiddleOfACall(t *testing.T) {
	if dir := os.Getenv("BELAY_TEST_KILLED"); dir != "" {
		b, err := belay.Open(t.Context(), dir, belay.Options{
			Hooks: []belay.AdHocHook{calling("request_tool_call", `{"tool":"lookup"}`)},
			Tools: toolFunc(func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				os.Stdout.WriteString("running\n")
				select {}
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Invoke(t.Context(), exec("ls"))
		return
	}
	dir := t.TempDir()
	cmd := osexec.Command(os.Args[0], "-test.run=^TestKilledInTheMiddleOfACall$")
	cmd.Env = append(os.Environ(), "BELAY_TEST_KILLED="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "running\n" {
		t.Fatalf("%q, %v", line, err)
	}
	outcomes := func() []phases.Event {
		b := open(t, dir, belay.Options{NoHooks: true})
		defer b.Close()
		es, err := b.Events(t.Context(), wire.Query{Type: phases.EventOutcome})
		if err != nil {
			t.Fatal(err)
		}
		return es
	}
	if es := outcomes(); len(es) != 0 {
		t.Errorf("it still runs: %+v", es)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out)
	cmd.Wait()
	for range 2 {
		es := outcomes()
		if len(es) != 1 || es[0].Decision != kernel.OutcomeUnknown || es[0].Tool != "lookup" || es[0].Intent == "" {
			t.Fatalf("outcomes %+v", es)
		}
	}
	b := open(t, dir, belay.Options{NoHooks: true})
	if r, err := statelog.Of(b.Log()).Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong != nil {
		t.Errorf("the log: %+v, %v", r, err)
	}
}

// packed is a module with a manifest.
func packed(t *testing.T, call string) string {
	t.Helper()
	m, err := os.ReadFile(filepath.Join("testdata", "calls", call+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "belay.manifest"
	manifest := `{"name":"caller","version":"1.0.0","abi":1,"phases":["pre_tool"],"capabilities":[{"name":"annotate"},{"name":"` + call + `"}],"config_schema":{"type":"object"}}`
	body := append([]byte{byte(len(name))}, name+manifest...)
	m = append(m, 0, byte(len(body))|0x80, byte(len(body)>>7))
	m = append(m, body...)
	path := filepath.Join(t.TempDir(), call+".wasm")
	write(t, path, string(m))
	return path
}

// everybody trusts every file.
type everybody struct{ tier phases.Tier }

func (e everybody) Verify(context.Context, string, []byte) (kernel.Proof, error) {
	return kernel.Proof{Tier: e.tier, Signer: "test"}, nil
}

func TestHTTPRequestFromAModule(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello "+r.Header.Get("Authorization"))
	}))
	defer s.Close()
	path := packed(t, "http_request")
	sum, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(sum))
	yaml := func(http, url string) string {
		return `version: belay/v1
hooks:
  - name: caller
    module: ` + path + `
    digest: ` + digest + `
    capabilities: [annotate, http_request]
    config: {request: {url: "` + url + `", headers: {Authorization: "Bearer hunter2hunter2"}}}
` + http
	}
	allowed := "    http: {hosts: [\"" + s.URL + "\"]}\n"
	for _, c := range []struct {
		name, yaml string
		tier       phases.Tier
		code       string
		intents    int
	}{
		{"trusted and listed", yaml(allowed, s.URL+"/"), phases.Trusted, "0", 1},
		{"not listed", yaml(allowed, "https://other.example/"), phases.Trusted, "-2", 0},
		{"no list", yaml("", s.URL+"/"), phases.Trusted, "-2", 0},
		{"not trusted", yaml(allowed, s.URL+"/"), phases.Sandboxed, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, state(t, c.yaml), belay.Options{Verifier: everybody{c.tier}})
			v, err := b.Invoke(t.Context(), exec("ls"))
			if c.tier != phases.Trusted {
				if v.Decision != phases.Block || v.Kind != phases.KindLoad {
					t.Errorf("%+v, %v", v, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			code, reply := noted(v)
			if code != c.code || c.code == "0" && !strings.Contains(reply, `"status":200`) {
				t.Errorf("code %s, reply %s", code, reply)
			}
			es, err := b.Events(t.Context(), wire.Query{Tool: "http_request"})
			if err != nil || len(es) != 2*c.intents {
				t.Fatalf("events %+v, %v", es, err)
			}
			for _, e := range es {
				if strings.Contains(string(e.Input)+string(e.Output), "hunter2") || e.Invocation != v.ID ||
					e.Tier != phases.Trusted {
					t.Errorf("logged: %+v", e)
				}
			}
			if c.intents > 0 && (!strings.Contains(string(es[0].Input), s.URL) || es[1].Decision != "ok") {
				t.Errorf("intent %s, outcome %+v", es[0].Input, es[1])
			}
		})
	}
}
