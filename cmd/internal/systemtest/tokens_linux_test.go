package systemtest

import (
	"fmt"
	"os"
	"strings"
)

const rowToken = "a token in `keys/`"

func tokenTries() []try {
	const admins = "it takes a token of root's"
	var tries []try
	for _, c := range [][3]string{
		{"reloads", "/v1/reload", ""},
		{"compacts the log", "/v1/events/compact", "{}"},
		{"accepts a configuration", "/v1/config/accept", `{"revision":"sha256:0"}`},
		{"lends herself a lease", "/v1/leases", `{}`},
		{"takes leases back", "/v1/leases/revoke", `{"prefix":"x"}`},
		{"has the log compared with a file", "/v1/events/reconcile", `{}`},
	} {
		tries = append(tries, try{who: alice, what: c[0] + " by the socket", holds: admins,
			row: "uid on the socket", route: "POST " + c[1], do: answered(403, "role", "POST", c[1], c[2])})
	}
	return append(
		tries,
		try{
			who:   alice,
			what:  "has originals recorded",
			holds: admins,
			route: "GET /v1/recording",
			do:    answered(403, "role", "GET", "/v1/recording?seconds=1", ""),
		},
		try{
			who:   alice,
			what:  "sends a token that she has made up",
			holds: "a false token is refused, never left out",
			route: "unauthenticated",
			row:   rowToken,
			do:    answered(401, "token", "POST", "/v1/reload", "", "blt_"+strings.Repeat("A", 43)),
		},
		try{
			who:   bob,
			what:  "sends the admin token of alice's state, had it leaked",
			holds: "a token is good for one state directory",
			route: "unauthenticated",
			do: func(s *stage) outcome {
				token, err := os.ReadFile(s.path(stateOf(alice), "keys/admin.token"))
				s.must(err)
				status, saw := s.http(bob, "POST", "/v1/reload", "", strings.TrimSpace(string(token)))
				return outcome{held: status == 401, happened: fmt.Sprintf("status %d", status), saw: saw}
			},
		},
	)
}
