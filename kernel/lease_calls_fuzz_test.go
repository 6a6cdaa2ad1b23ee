package kernel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Whatever a hook asks of the ledger, the answer is a document or a refusal. A refused call
// lends nothing, and every lease is within every limit.
func FuzzLeaseCalls(f *testing.F) {
	calls := []string{"mint", "revoke", "check", "request"}
	for i, s := range []string{
		mintSrv + "}", `{"id":"s-1/old"}`, `{"capability":"tool:write","scope":{"paths":["/srv/**"]}}`,
		`{"id":"s-1/q","capability":"tool:write","scope":{"paths":["/srv/**"]},"ttl_s":60,"reason":"to write"}`,
		`{"renew":"s-1/old","ttl_s":9223372036854775807}`, `{"prefix":"s-1/"}`, `{"requests":true}`,
		mintSrv + `,"max_uses":-1,"max_ttl_s":1}`,
		`{"id":"../x","capability":"*","scope":{},"ttl_s":0}`, mintSrv + `,"ttl_s":7}`,
		mintSrv + `,"holder":{"session":"","agent":"\u0000"}}`, `[]`, `{`, ``,
		`{"id":"s-1/a","capability":"tool:write","scope":{"paths":["/srv/**"],"hosts":["*:70000"],"args":["sha256:0"]},"ttl_s":60}`,
	} {
		f.Add(uint8(i), []byte(s))
		f.Add(uint8(0), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which uint8, request []byte) {
		s := &script{}
		h := newHost(t, []hook{broker(s)}, reviewed)
		h.lend(t, leases.Request{ID: "s-1/old"})
		s.say(calls[int(which)%len(calls)] + " " + string(request))
		v := h.invoke(t, write("/srv/a"))
		if v.Kind != "" && v.Kind != phases.KindPolicy && v.Kind != phases.KindHostcall {
			t.Fatalf("%s: kind %s: %s", request, v.Kind, v.Reason)
		}
		text := s.last()
		refused := strings.HasPrefix(text, "-")
		if refused {
			_, text, _ = strings.Cut(text, " ")
		}
		if text != "" && !jsontext.Value(text).IsValid() {
			t.Fatalf("%s is answered %q", request, s.last())
		}
		list, err := h.Leases(t.Context(), leases.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if refused && len(list) != 1 {
			t.Fatalf("%s is refused and there are %d leases", request, len(list))
		}
		for _, l := range list {
			if err := l.Scope.Validate(); err != nil {
				t.Fatalf("%s lends %+v: %v", request, l.Scope, err)
			}
			if life := l.ExpiresAt.Sub(l.NotBefore); life <= 0 || life > leases.MaxLifetime || l.UsesLeft < 0 {
				t.Fatalf("%s lends for %v, %d times", request, life, l.UsesLeft)
			}
			if l.Holder.Runtime != "custom" || phases.SafeLine(l.ID, phases.MaxIDBytes) != l.ID {
				t.Fatalf("%s lends %q to %+v", request, l.ID, l.Holder)
			}
		}
		if e := h.Close(); e != nil && !errors.Is(e, kernel.ErrClosed) {
			t.Fatal(e)
		}
	})
}
