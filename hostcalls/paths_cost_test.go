package hostcalls

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

func pathRequest(t *testing.T, paths ...string) string {
	t.Helper()
	raw, err := json.Marshal(pathQuery{Paths: paths})
	if err != nil || len(raw) > MaxRequest {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	return string(raw)
}

// A long path is not walked to its end, whatever lies on the way, and the call pays
// for every element walked.
func TestPathResolveIsBounded(t *testing.T) {
	long := strings.Repeat("a/", 2000)
	scopes := func(n int) (s phases.Scope) {
		for i := range n {
			s = append(s, fmt.Sprintf("/x/y/%d/**", i))
		}
		return append(s, "/w/**")
	}
	plain := files(func(string) (string, error) { return "", ErrNotLink })
	u := newTurn(t, func(c *SessionConfig) {
		c.Files, c.Scopes = plain, phases.Scopes{FSRead: scopes(200), FSWrite: scopes(200)}
	})
	few := u.do("path_resolve", pathRequest(t, "/w/a"))
	r := u.do("path_resolve", pathRequest(t, "/w/"+long, "/"+long))
	reply := decodeReply[pathReply](u)
	for i, p := range reply.Results {
		if p.Links != "loop" || p.Resolved != p.Path {
			t.Errorf("%d: links %s, %d bytes resolved of %d", i, p.Links, len(p.Resolved), len(p.Path))
		}
	}
	if work := int64(2 * maxElements * 400 * patternFuel); r.Fuel < work || few.Fuel > work/10 {
		t.Errorf("%d fuel for %d elements, %d for two", r.Fuel, 2*maxElements, few.Fuel)
	}

	// a link whose target has many elements is the same
	turns := files(func(p string) (string, error) {
		if strings.HasSuffix(p, "/l") {
			return strings.Repeat("a/../", 800) + "l", nil
		}
		return "", ErrNotLink
	})
	u = newTurn(t, func(c *SessionConfig) { c.Files = turns })
	u.do("path_resolve", pathRequest(t, "/w/l"))
	if p := decodeReply[pathReply](u).Results[0]; p.Links != "loop" {
		t.Errorf("links %s after %d elements", p.Links, maxElements)
	}

	// characters that decompose into many are paid for by what they become
	a := u.do("path_resolve", pathRequest(t, strings.Repeat("a", 3000)))
	b := u.do("path_resolve", pathRequest(t, strings.Repeat("\ufdfa", 1000)))
	if b.Fuel < 5*a.Fuel {
		t.Errorf("%d fuel for 1000 ligatures, %d for 3000 letters", b.Fuel, a.Fuel)
	}
}

func TestPathResolveObeysContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	u := newTurn(t, func(c *SessionConfig) {
		c.Files = files(func(string) (string, error) {
			asked++
			cancel()
			return "", ErrNotLink
		})
	})
	call, _ := Lookup("path_resolve")
	_, err := u.Do(ctx, &call, &Args{In: [2][]byte{[]byte(pathRequest(t, "/a/b/c/d"))}})
	if err == nil || asked != 1 {
		t.Errorf("error %v after %d looks", err, asked)
	}
}

// Names that are no text are on disks; they must not end a turn.
func TestPathResolveOddNames(t *testing.T) {
	u := newTurn(t, func(c *SessionConfig) {
		c.Files = files(func(p string) (string, error) {
			if p == "/l" {
				return "/\xff", nil
			}
			return "", ErrNotLink
		})
	})
	if r, err := u.try("path_resolve", pathRequest(t, "file:///%ff", "/l")); err != nil || r.Code <= 0 {
		t.Fatal(r.Code, err)
	}
	got := decodeReply[pathReply](u).Results
	if got[0].Path != "/\uFFFD" || got[1].Resolved != "/\uFFFD" {
		t.Errorf("%+v", got)
	}
}

// files is a FileSystem made of one function.
type files func(path string) (string, error)

func (f files) Readlink(_ context.Context, p string) (string, error) { return f(p) }
