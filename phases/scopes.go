package phases

// Scope is a set of prefix patterns of one kind. Only prefix patterns are
// allowed, so that containment and intersection are exact and closed:
//
//   - paths: an absolute path, DIR/** (everything at or below DIR), or *
//   - net: HOST:PORT where HOST is exact, *.suffix or *, and PORT is a number, LOW-HIGH or *
//   - tools: an exact name, ns:* or *
//
// A nil Scope means unrestricted, the same as {"*"}; an empty one means nothing.
type Scope []string

// Scopes is what an action may touch.
type Scopes struct {
	FSRead  Scope `json:"fs_read,omitzero"`
	FSWrite Scope `json:"fs_write,omitzero"`
	Net     Scope `json:"net,omitzero"`
	Tools   Scope `json:"tools,omitzero"`
}
