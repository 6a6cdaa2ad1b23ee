package systemtest

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/phases"
)

// withStore has the kernels of all users share a PostgreSQL, and binds a hook that only its digest vouches for.
const withStore = `version: belay/v1
store:
  postgres: {dsn_file: /etc/belay/postgres.dsn, kernel: vm, schema: SCHEMA, tls: off, hold: 3s}
hooks:
  - name: ask-push
    module: /etc/belay/mine.wasm
    digest: DIGEST
    capabilities: [block, request_approval, shell_parse]
`

// postgresIn has the tests' server listen on a socket of the machine, and returns the DSN that leads there.
func (m *machine) postgresIn(dir, dsn string) string {
	m.t.Helper()
	m.must(os.MkdirAll(m.path(dir), 0o755))
	u, err := url.Parse(dsn)
	m.must(err)
	const name = ".s.PGSQL.5432"
	server := filepath.Join(u.Query().Get("host"), name)
	l, err := net.Listen("unix", m.path(dir, name))
	m.must(err)
	m.must(os.Chmod(m.path(dir, name), 0o777))
	m.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("unix", server)
			if err != nil {
				c.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{c, s}, {s, c}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					c.Close()
					s.Close()
				}()
			}
		}
	}()
	u.RawQuery = url.Values{"host": {"/" + dir}}.Encode()
	return u.String()
}

// writeDSN gives the daemon a DSN, as root does.
func (m *machine) writeDSN(dsn string) {
	m.t.Helper()
	file := m.path("etc/belay/postgres.dsn")
	m.must(os.WriteFile(file+".next", []byte(dsn), 0o600))
	m.must(os.Chown(file+".next", m.daemonUID(), m.daemonUID()))
	m.must(os.Rename(file+".next", file))
}

// Two users of a machine have kernels of their own, which share one PostgreSQL: a lease without a credential is used up
// by both, and a denial reaches both. No user gets at the DSN, and none brings a store.
func TestSharedStore(t *testing.T) {
	pgtest.DSN(t)
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	o := pgtest.Options(t, "vm")
	login := pgtest.Login(t, o, "kernel")
	carol := newReviewer(t, "carol")
	module, err := os.ReadFile("../../../examples-wasm/ask-push/ask-push.wasm")
	m.must(err)
	module = append(module, "\x00\x05\x04mine"...) // another file than the one that belay itself vouches for
	m.install(systemYAML+"reviewers: {\"*\": [carol]}\n",
		strings.NewReplacer("SCHEMA", o.Schema, "DIGEST", phases.ByteDigest(module)).Replace(withStore)+
			carol.yaml("reviewers:\n"))
	m.must(os.WriteFile(m.path("etc/belay/mine.wasm"), module, 0o644))
	good := m.postgresIn("run/postgresql", login.DSN)
	m.writeDSN(good)
	m.start()
	s := &stage{machine: m, carol: carol}

	for _, user := range []int{alice, bob} {
		if status, saw := s.http(user, "POST", "/v1/invoke", notebook("s-n")); status != 200 ||
			!strings.Contains(saw, `"decision":"allow"`) {
			t.Fatalf("user %d: %d %s\n%s", user, status, saw, m.log)
		}
	}
	if names, want := fmt.Sprint(kernelsOf(t, o)), fmt.Sprintf("[vm-%d vm-%d]", alice, bob); names != want {
		t.Errorf("kernels %s, want %s", names, want)
	}

	// One lease of two uses: each user takes one, and then there is none.
	token := s.lendToAll("s-n", "2")
	for n, c := range []struct {
		user int
		want bool
	}{{alice, true}, {bob, true}, {bob, false}, {alice, false}} {
		if active, saw := s.claims(c.user, token, "s-n"); active != c.want {
			t.Errorf("use %d, by user %d: %v, %s", n+1, c.user, active, saw)
		}
	}

	// A question of alice's is hers: bob does not see it, and a signature that counts for both does not come by bob.
	if d, r := s.verdict(alice, nil, "s-a", "git push"); !strings.Contains(r, "waiting for approval") {
		t.Errorf("alice pushes: %s %s", d, r)
	}
	item := s.pending(alice)
	if status, saw := s.http(bob, "GET", "/v1/approvals", ""); status != 200 || strings.Contains(saw, item.ID) {
		t.Errorf("bob sees what alice waits for: %d %s", status, saw)
	}
	if status, saw := s.http(bob, "GET", "/v1/approvals/"+item.ID, ""); status != 404 {
		t.Errorf("bob asks for it: %d %s", status, saw)
	}
	if status, saw := s.decide(bob, item.ID, carol.approve(s, item)); status != 404 {
		t.Errorf("bob decides it: %d %s", status, saw)
	}
	if status, saw := s.decide(alice, item.ID, carol.approve(s, item)); status != 200 {
		t.Errorf("alice decides it: %d %s", status, saw)
	}

	// A denial on the kernel of one user stops the hook for both.
	m.must(os.WriteFile(m.path("tmp/mine.wasm"), module, 0o644))
	if out, code := s.onState(alice, "trust", "deny", "--fleet", "--file", "/tmp/mine.wasm", "--why", "bad"); code != 0 {
		t.Fatalf("deny: %s\n%s", out, m.log)
	}
	for _, user := range []int{alice, bob} {
		var d, r string
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if d, r = s.verdict(user, nil, "s-d", "ls"); d == "deny" {
				break
			}
		}
		if d != "deny" {
			t.Errorf("user %d: %s %s\n%s", user, d, r, tail(m.log.String()))
		}
	}

	// What users cannot do.
	for _, verb := range []string{"read", "write", "remove"} {
		if err := m.try(alice, verb, "/etc/belay/postgres.dsn"); err != syscall.EACCES {
			t.Errorf("alice, %s: %v", verb, err)
		}
	}
	layer := "version: belay/v1\nstore: {postgres: {dsn_file: /home/alice/dsn, kernel: mine}}\n"
	if out, errs, code := m.as(alice, layer, "/usr/local/bin/belay", "config", "user", "-"); code == 0 ||
		!strings.Contains(out+errs, "store") {
		t.Errorf("a layer with a store: %d %s%s", code, out, errs)
	}
	body, err := json.Marshal(map[string]string{"file": layer})
	m.must(err)
	if status, saw := s.http(alice, "POST", "/v1/config/user", string(body)); status < 400 {
		t.Errorf("a layer with a store, without the command: %d %s", status, saw)
	}

	// A confined daemon reads the file again: one that leads nowhere is told, and the next one is taken.
	const older = "the connections of before are used"
	m.writeDSN("postgres://none@/none?host=/run/postgresql")
	if !s.statusSays(bob, true, older) {
		t.Errorf("no word of a DSN that does not work\n%s", tail(m.log.String()))
	}
	m.writeDSN(m.postgresIn("run/postgresql/other", login.DSN))
	if !s.statusSays(bob, false, older) {
		t.Errorf("the next DSN is not taken\n%s", tail(m.log.String()))
	}
}

// kernelsOf returns the names of the kernels in a schema.
func kernelsOf(t *testing.T, o postgres.Options) (names []string) {
	t.Helper()
	db, err := postgres.OpenAuditor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Kernels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		names = append(names, rows[i].Name)
	}
	slices.Sort(names)
	return names
}

// statusSays waits until the status of a user's kernel has a text, or has it no more.
func (s *stage) statusSays(uid int, has bool, text string) bool {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if out, _ := s.onState(uid, "status"); strings.Contains(out, text) == has {
			return true
		}
	}
	return false
}

// lendToAll has root lend to all users that name a session, with carol's signature, and returns the token.
func (s *stage) lendToAll(session, uses string) string {
	s.t.Helper()
	var minted struct {
		Approval string `json:"approval"`
		Lease    lent   `json:"lease"`
	}
	mint := func(args ...string) (out, errs string) {
		out, errs, _ = s.as(0, "", "/usr/local/bin/belay", append([]string{"--state", stateOf(alice), "lease", "mint",
			"--json"}, args...)...)
		return out, errs
	}
	out, errs := mint("--capability", "tool:notebook", "--session", session, "--ttl", "5m", "--uses", uses)
	if err := json.Unmarshal([]byte(out), &minted); err != nil || minted.Approval == "" {
		s.t.Fatalf("no lease was asked for: %s%s\n%s", out, errs, s.log)
	}
	if status, saw := s.decide(alice, minted.Approval, s.carol.approve(s, s.pending(alice))); status != 200 {
		s.t.Fatalf("carol's yes: %d %s", status, saw)
	}
	out, errs = mint("--approval", minted.Approval)
	if err := json.Unmarshal([]byte(out), &minted); err != nil || minted.Lease.Token == "" {
		s.t.Fatalf("no lease was made: %s%s", out, errs)
	}
	return minted.Lease.Token
}
