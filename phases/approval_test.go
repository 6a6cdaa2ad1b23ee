package phases

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestApprovalKey(t *testing.T) {
	key := func(change func(*Invocation), turns ...Turn) string {
		inv := sampleInvocation(PreTool)
		if change != nil {
			change(&inv)
		}
		c, err := NewChain(inv, nil, Scopes{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range turns {
			c.Add(x)
		}
		k, err := c.ApprovalKey()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	ask := turn("a", askWith("sure?"))
	base := key(nil, ask)
	if key(nil, turn("a")) != "" || base == "" {
		t.Fatal("a key without an ask, or an ask without a key")
	}
	otherDigest, otherConfig := ask, ask
	otherDigest.By.Digest, otherConfig.By.ConfigDigest = "sha256:cc", "sha256:dd"
	for name, same := range map[string]string{
		"another call": key(func(i *Invocation) { i.Action, _ = Set(i.Action, "/call_id", jsontext.Value(`"c-2"`)) },
			ask),
		"another run":      key(func(i *Invocation) { i.Run, i.ID = "r-2", "" }, ask),
		"another spelling": key(func(i *Invocation) { i.Action, _ = Set(i.Action, "/args/n", jsontext.Value("100")) }, ask),
		"another reason":   key(nil, turn("a", askWith("really?"))),
	} {
		if same != base {
			t.Errorf("%s asks again", name)
		}
	}
	for name, other := range map[string]string{
		"another command": key(func(i *Invocation) { i.Action, _ = Set(i.Action, "/args/command", jsontext.Value(`"rm"`)) },
			ask),
		"a rewrite":       key(nil, ask, turn("b", setArg("x", "1"))),
		"another session": key(func(i *Invocation) { i.Session = "s-2" }, ask),
		"another agent":   key(func(i *Invocation) { i.Agent = "x" }, ask),
		"another runtime": key(func(i *Invocation) { i.Runtime = "x" }, ask),
		"narrower scopes": key(nil, ask, turn("b", clampTo())),
		"one more asks":   key(nil, ask, turn("b", askWith("x"))),
		"another module":  key(nil, otherDigest),
		"another config":  key(nil, otherConfig),
		"another hook":    key(nil, turn("b", askWith("sure?"))),
	} {
		if other == base {
			t.Errorf("%s is approved with it", name)
		}
	}
}
