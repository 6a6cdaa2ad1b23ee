package phases

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ApprovalKey returns the digest under which a person's approval of this chain's
// ask is filed: of phase, runtime, session, agent, the final action (as
// ActionDigest takes it), its scopes, and the asking hooks with their digests
// and configuration. Change any of them, and it is another question. It is
// empty when no hook asks. The error is a *DecodeError: the action has no canonical form.
func (c *Chain) ApprovalKey() (string, error) {
	if len(c.asks) == 0 {
		return "", nil
	}
	action, err := c.digest()
	if err != nil {
		return "", err
	}
	type hook struct {
		Hook   string `json:"hook"`
		Digest string `json:"digest"`
		Config string `json:"config"`
	}
	key := struct {
		Phase   Phase  `json:"phase"`
		Runtime string `json:"runtime"`
		Session string `json:"session"`
		Agent   string `json:"agent"`
		Action  string `json:"action_digest"`
		Scopes  Scopes `json:"scopes"`
		Hooks   []hook `json:"hooks"`
	}{
		Phase: c.inv.Phase, Runtime: c.inv.Runtime, Session: c.inv.Session, Agent: c.inv.Agent,
		Action: action, Scopes: c.state.scopes.Normalize(),
	}
	for _, a := range c.asks {
		key.Hooks = append(key.Hooks, hook{a.Hook, a.Digest, a.ConfigDigest})
	}
	b, err := json.Marshal(key)
	if err != nil {
		return "", &DecodeError{Offset: -1, Reason: "the approval has no key"}
	}
	return Digest(jsontext.Value(b))
}
