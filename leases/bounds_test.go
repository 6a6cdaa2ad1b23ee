package leases_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// refused fails the test unless the error is of the class and has just this text; "" means that there is none.
func refused(t *testing.T, name string, err, class error, text string) {
	t.Helper()
	switch {
	case text == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case text != "" && (!errors.Is(err, class) || err.Error() != text):
		t.Errorf("%s: %v, want %v: %s", name, err, class, text)
	}
}

// Each number of a request is held to both of its bounds, and each refusal says which it was.
func TestBoundsOfRequests(t *testing.T) {
	const (
		longer  = "a lease lasts at most 1h0m0s: a longer one is refused, not shortened"
		longest = "a lease lasts at most 720h0m0s: a longer one is refused, not shortened"
		month   = int64(30 * 24 * 60 * 60)
		uses    = "max_uses is between 1 and 1000000000"
		delay   = "delay_s is between 0 and 30 days"
		ttl     = "ttl_s is at least 1 second"
		size    = "an id has 1 to 256 bytes"
		part    = "a part of an id is empty, . or .., or longer than 64 bytes"
		letters = "an id has letters, digits and . _ - @ + = only, in parts joined by /"
	)
	all := leases.Rule{MaxTTL: leases.MaxLifetime}
	sixteen := strings.TrimSuffix(strings.Repeat(strings.Repeat("a", 15)+"/", 16), "/")
	for _, tc := range []struct {
		name  string
		r     leases.Request
		rule  leases.Rule
		class error
		text  string
	}{
		{"shortest", leases.Request{TTLS: 1}, leases.Rule{}, nil, ""},
		{"shorter", leases.Request{TTLS: 0}, leases.Rule{}, leases.ErrInvalid, ttl},
		{"a negative max_ttl_s", leases.Request{TTLS: 1, MaxTTLS: -1}, leases.Rule{}, leases.ErrInvalid, ttl},
		{"longest by default", leases.Request{TTLS: 3600, MaxTTLS: 3600}, leases.Rule{}, nil, ""},
		{"longer", leases.Request{TTLS: 3601}, leases.Rule{}, leases.ErrWider, longer},
		{"a longer max_ttl_s", leases.Request{TTLS: 1, MaxTTLS: 3601}, leases.Rule{}, leases.ErrWider, longer},
		{"with a negative rule", leases.Request{TTLS: 3601}, leases.Rule{MaxTTL: -1}, leases.ErrWider, longer},
		{"with a rule of a second", leases.Request{TTLS: 2}, leases.Rule{MaxTTL: time.Second}, leases.ErrWider,
			"a lease lasts at most 1s: a longer one is refused, not shortened"},
		{"longest of all", leases.Request{TTLS: month, MaxTTLS: month}, all, nil, ""},
		{"longer than the longest of all", leases.Request{TTLS: month + 1}, leases.Rule{MaxTTL: 2 * leases.MaxLifetime},
			leases.ErrWider, longest},
		{"max_ttl_s as long", leases.Request{TTLS: 60, MaxTTLS: 60}, leases.Rule{}, nil, ""},
		{"max_ttl_s shorter", leases.Request{TTLS: 60, MaxTTLS: 59}, leases.Rule{}, leases.ErrWider,
			"ttl_s is more than max_ttl_s"},
		{"most uses", leases.Request{TTLS: 1, MaxUses: 1_000_000_000}, leases.Rule{}, nil, ""},
		{"more uses", leases.Request{TTLS: 1, MaxUses: 1_000_000_001}, leases.Rule{}, leases.ErrInvalid, uses},
		{"fewer uses", leases.Request{TTLS: 1, MaxUses: -1}, leases.Rule{}, leases.ErrInvalid, uses},
		{"longest delay", leases.Request{TTLS: 1, DelayS: month}, leases.Rule{}, nil, ""},
		{"longer delay", leases.Request{TTLS: 1, DelayS: month + 1}, leases.Rule{}, leases.ErrInvalid, delay},
		{"negative delay", leases.Request{TTLS: 1, DelayS: -1}, leases.Rule{}, leases.ErrInvalid, delay},

		{"every character of an id", leases.Request{TTLS: 1, ID: "azAZ09._-@+="}, leases.Rule{}, nil, ""},
		{"the longest id, of the most parts", leases.Request{TTLS: 1, ID: sixteen + "a"}, leases.Rule{}, nil, ""},
		{"a longer id", leases.Request{TTLS: 1, ID: sixteen + "aa"}, leases.Rule{}, leases.ErrInvalid, "id: " + size},
		{"more parts", leases.Request{TTLS: 1, ID: strings.Repeat("a/", 16) + "a"}, leases.Rule{}, leases.ErrInvalid,
			"id: an id has at most 16 parts"},
		{"the longest part", leases.Request{TTLS: 1, ID: strings.Repeat("a", 64)}, leases.Rule{}, nil, ""},
		{"a longer part", leases.Request{TTLS: 1, ID: strings.Repeat("a", 65)}, leases.Rule{}, leases.ErrInvalid,
			"id: " + part},
		{"an empty part", leases.Request{TTLS: 1, ID: "a//b"}, leases.Rule{}, leases.ErrInvalid, "id: " + part},
		{"a part that is .", leases.Request{TTLS: 1, ID: "a/."}, leases.Rule{}, leases.ErrInvalid, "id: " + part},
		{"a part that is ..", leases.Request{TTLS: 1, ID: "../a"}, leases.Rule{}, leases.ErrInvalid, "id: " + part},
		{"the parent's id", leases.Request{TTLS: 1, Parent: "a b"}, leases.Rule{}, leases.ErrInvalid, "parent: " + letters},
		{"before a", leases.Request{TTLS: 1, ID: "`"}, leases.Rule{}, leases.ErrInvalid, "id: " + letters},
		{"behind z", leases.Request{TTLS: 1, ID: "{"}, leases.Rule{}, leases.ErrInvalid, "id: " + letters},
		{"behind Z", leases.Request{TTLS: 1, ID: "["}, leases.Rule{}, leases.ErrInvalid, "id: " + letters},
		{"behind 9", leases.Request{TTLS: 1, ID: ":"}, leases.Rule{}, leases.ErrInvalid, "id: " + letters},
		{"a letter of another script", leases.Request{TTLS: 1, ID: "ä"}, leases.Rule{}, leases.ErrInvalid, "id: " + letters},
	} {
		tc.r.Capability, tc.r.Scope = "tool:exec", &leases.Scope{}
		refused(t, tc.name, tc.r.Check(tc.rule), tc.class, tc.text)
	}
	r := leases.Request{TTLS: 1, Capability: "tool:exec"}
	refused(t, "no scope", r.Check(leases.Rule{}), leases.ErrInvalid, "scope is missing: {} covers everything")
}

func TestBoundsOfCapabilities(t *testing.T) {
	const blanks, parts = "capability: a capability is NS:NAME or NS:*, without blanks",
		"capability: a capability is NS:NAME or NS:*, such as tool:exec"
	for c, text := range map[string]string{
		"tool:exec": "", "tool:*": "", "spawn": "", "mcp:a:b": "", "a:" + strings.Repeat("b", 254): "",
		"":                              "capability: a capability has 1 to 256 bytes",
		"a:" + strings.Repeat("b", 255): "capability: a capability has 1 to 256 bytes",
		"a b:c":                         blanks, "a:\u200bb": blanks, "a:\uff42": blanks, "a:b*c": blanks, "exec": parts,
		"spawner": parts,
		"*":       parts,
	} {
		refused(t, c, leases.CheckCapability(c), leases.ErrInvalid, text)
	}
}

// A lease is contained in its parent up to each bound and not beyond it; the first dimension in which it is
// not is named.
func TestBoundsOfContainment(t *testing.T) {
	base := leases.Lease{
		ID: "p/c", Holder: coder, Capability: "tool:exec", Scope: leases.Scope{Paths: phases.Scope{"/a/**"}}, NotBefore: t0,
		ExpiresAt: t0.Add(time.Hour),
		MaxTTLS:   60, MaxUses: 3, Depth: 4,
	}
	parent := base
	parent.ID, parent.MaxUses, parent.Uses, parent.Depth = "p", 5, 2, 3
	for _, tc := range []struct {
		name   string
		change func(l, p *leases.Lease)
		want   string
	}{
		{"the same", func(_, _ *leases.Lease) {}, ""},
		{"another capability", func(l, _ *leases.Lease) { l.Capability = "tool:write" },
			"the capability is not the parent's"},
		{"one of several capabilities", func(_, p *leases.Lease) { p.Capability = "tool:*" }, ""},
		{"other paths", func(l, _ *leases.Lease) { l.Scope.Paths = phases.Scope{"/b"} },
			"the scope goes beyond the parent's"},
		{"as many uses as are left", func(l, _ *leases.Lease) { l.MaxUses = 3 }, ""},
		{"one use more", func(l, _ *leases.Lease) { l.MaxUses = 4 }, "more uses than the parent has left"},
		{"a use of the parent's fewer", func(_, p *leases.Lease) { p.Uses++ }, "more uses than the parent has left"},
		{"before the parent", func(l, _ *leases.Lease) { l.NotBefore = t0.Add(-1) }, "it would begin before the parent"},
		{"behind its end", func(l, _ *leases.Lease) { l.ExpiresAt = l.ExpiresAt.Add(1) }, "it would outlive the parent"},
		{"inside of its time", func(l, _ *leases.Lease) { l.NotBefore, l.ExpiresAt = t0.Add(1), t0.Add(2) }, ""},
		{"a longer max_ttl_s", func(l, _ *leases.Lease) { l.MaxTTLS++ }, "a longer max_ttl than the parent's"},
		{"a shorter max_ttl_s", func(l, _ *leases.Lease) { l.MaxTTLS-- }, ""},
		{"as deep as the parent", func(l, _ *leases.Lease) { l.Depth = 3 }, "too many leases above it"},
		{"the deepest", func(l, p *leases.Lease) { l.Depth, p.Depth = leases.MaxDepth, leases.MaxDepth-1 }, ""},
		{"deeper", func(l, p *leases.Lease) { l.Depth, p.Depth = leases.MaxDepth+1, leases.MaxDepth },
			"too many leases above it"},
		{"an id beside it", func(l, _ *leases.Lease) { l.ID = "pc" }, "its id does not lie below the parent's"},
		{"another agent", func(l, _ *leases.Lease) { l.Holder.Agent, l.Holder.Session = "x", "x" }, ""},
		{"another runtime", func(l, _ *leases.Lease) { l.Holder.Runtime = "x" },
			"another runtime's or another credential's agent"},
		{"another credential", func(l, _ *leases.Lease) { l.Holder.Credential = "x" },
			"another runtime's or another credential's agent"},
	} {
		l, p := base.Clone(), parent.Clone()
		tc.change(&l, &p)
		if got := l.ContainedIn(&p); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// On the boot of the lease the boot clock decides, else the wall clock, which never counts as earlier than the store
// has seen it. A lease begins with its first moment and is over with the one at its end.
func TestBoundsOfTime(t *testing.T) {
	const hour = time.Hour
	l := leases.Lease{
		State: leases.Active, MaxUses: 2, Boot: "b1", BootFrom: hour, BootUntil: 2 * hour, NotBefore: t0.Add(hour),
		ExpiresAt: t0.Add(2 * hour),
	}
	boot := func(since time.Duration) leases.Instant {
		return leases.Instant{Boot: "b1", Since: since, Wall: t0.Add(100 * hour)}
	}
	wall := func(at, high time.Duration) leases.Instant {
		return leases.Instant{Boot: "b2", Since: 100 * hour, Wall: t0.Add(at), High: t0.Add(high)}
	}
	for _, tc := range []struct {
		name        string
		at          leases.Instant
		begun, over bool
		remains     time.Duration
	}{
		{"before, same boot", boot(hour - 1), false, false, hour + 1},
		{"begins, same boot", boot(hour), true, false, hour},
		{"ends, same boot", boot(2*hour - 1), true, false, 1},
		{"over, same boot", boot(2 * hour), true, true, 0},
		{"long over, same boot", boot(3 * hour), true, true, 0},
		{"before, another boot", wall(hour-1, 0), false, false, hour + 1},
		{"begins, another boot", wall(hour, 0), true, false, hour},
		{"ends, another boot", wall(2*hour-1, 0), true, false, 1},
		{"over, another boot", wall(2*hour, 0), true, true, 0},
		{"set back before its end, another boot", wall(hour, 2*hour-1), true, false, 1},
		{"set back behind its end, another boot", wall(hour, 2*hour), true, true, 0},
		{"no boot clock", leases.Instant{Wall: t0.Add(hour)}, true, false, hour},
	} {
		state := leases.Active
		if tc.over {
			state = leases.Expired
		}
		if l.Begun(tc.at) != tc.begun || l.Over(tc.at) != tc.over || l.Remaining(tc.at) != tc.remains ||
			l.Usable(tc.at) != (tc.begun && !tc.over) || l.StateAt(tc.at) != state {
			t.Errorf("%s: begun %v, over %v, %v remain, usable %v, %s", tc.name, l.Begun(tc.at), l.Over(tc.at),
				l.Remaining(tc.at), l.Usable(tc.at), l.StateAt(tc.at))
		}
	}
	none := l
	none.Boot = "" // as where the host has no such clock: two hosts without are not one boot
	if at := (leases.Instant{Wall: t0.Add(3 * hour)}); !none.Over(at) || none.Remaining(at) != 0 {
		t.Error("without a boot clock the wall clock did not decide")
	}
	at := boot(hour)
	for _, uses := range []int64{0, 1, 2, 3} {
		if l.Uses = uses; l.Usable(at) != (uses < 2) {
			t.Errorf("after %d of 2 uses: usable %v", uses, l.Usable(at))
		}
	}
	for _, s := range []leases.State{leases.Exhausted, leases.Revoked} {
		if l.Uses, l.State = 0, s; l.Usable(at) || l.StateAt(at) != s || l.StateAt(boot(3*hour)) != s {
			t.Errorf("%s: usable %v, %s, %s", s, l.Usable(at), l.StateAt(at), l.StateAt(boot(3*hour)))
		}
	}
}

func TestClockOfThisHost(t *testing.T) {
	var c leases.SystemClock
	before := time.Now()
	at := leases.At(c)
	if at.Wall.Before(before) || time.Since(at.Wall) < 0 || !at.High.IsZero() {
		t.Errorf("%+v", at)
	}
	again := leases.At(c)
	if at.Boot != again.Boot || at.Boot != "" && (at.Since <= 0 || again.Since < at.Since) {
		t.Errorf("%+v, then %+v", at, again)
	}
}

// Every member of a holder counts, and a lease that names no credential belongs to every caller that names the rest.
func TestHoldersAllow(t *testing.T) {
	h := leases.Holder{Runtime: "r", Session: "s", Agent: "a", Credential: "c"}
	for name, tc := range map[string]struct {
		change func(holder, who *leases.Holder)
		want   bool
	}{
		"itself":             {func(_, _ *leases.Holder) {}, true},
		"another runtime":    {func(_, who *leases.Holder) { who.Runtime = "x" }, false},
		"another session":    {func(_, who *leases.Holder) { who.Session = "x" }, false},
		"another agent":      {func(_, who *leases.Holder) { who.Agent = "x" }, false},
		"another credential": {func(_, who *leases.Holder) { who.Credential = "x" }, false},
		"no credential":      {func(_, who *leases.Holder) { who.Credential = "" }, false},
		"needs none":         {func(holder, _ *leases.Holder) { holder.Credential = "" }, true},
	} {
		holder, who := h, h
		tc.change(&holder, &who)
		if holder.Allows(who) != tc.want {
			t.Errorf("%s: %v", name, !tc.want)
		}
	}
	inv := phases.Invocation{Runtime: "r", Session: "s", Agent: "a"}
	if diff := cmp.Diff(h, leases.HolderOf(inv, "c")); diff != "" {
		t.Errorf("of an invocation (-want +got):\n%s", diff)
	}
}

func TestPartsOfIDs(t *testing.T) {
	for _, tc := range []struct {
		prefix, id string
		want       bool
	}{{"a", "a/b", true}, {"a", "a/b/c", true}, {"a/b", "a/b/c", true}, {"a", "a", false}, {"a", "a/", true},
		{"a", "ab/c", false}, {"a/b", "a", false}, {"b", "a/b", false}, {"b", "a/c", false}} {
		if leases.Below(tc.prefix, tc.id) != tc.want {
			t.Errorf("%s below %s: %v", tc.id, tc.prefix, !tc.want)
		}
	}
	for id, want := range map[string][]string{"": nil, "a": nil, "a/b": {"a"}, "a/b/c": {"a/b", "a"}, "/a": nil} {
		if diff := cmp.Diff(want, leases.Prefixes(id)); diff != "" {
			t.Errorf("above %q (-want +got):\n%s", id, diff)
		}
	}
	// A name that can be a part of an id is one; any other gets a digest, so that no two have the same.
	for name, want := range map[string]string{
		"s-1": "s-1", strings.Repeat("a", 48): strings.Repeat("a", 48), strings.Repeat("a", 49): strings.Repeat("a", 40) +
			"-",
		"": "-", "a/b": "a-b-", "a b": "a-b-", ".": "-", "..": "-", ".a b.": "a-b-", "ä": "--",
	} {
		got := leases.Segment(name)
		if strings.HasSuffix(want, "-") {
			sum, ok := strings.CutPrefix(got, want)
			if !ok || len(sum) != 12 {
				t.Errorf("%q becomes %q, want %s and a digest", name, got, want)
			}
		} else if got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if leases.Segment("a b") == leases.Segment("a-b") || leases.Segment("a b") == leases.Segment("a/b") {
		t.Error("two names have one part")
	}
}
