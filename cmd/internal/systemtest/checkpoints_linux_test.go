package systemtest

import (
	"strconv"
	"strings"
)

func checkpointTries() []try {
	marks := "/var/lib/belay/marks"
	return []try{
		{who: alice, what: "looks for the high-water marks", holds: modes, do: denied("list", marks)},
		{who: alice, what: "takes the high-water marks away", holds: modes, do: denied("rename", marks, "/home/alice/marks")},
		{who: alice, what: "writes a mark of her own", holds: modes, do: denied("write", marks+"/x")},
		{
			who:   alice,
			what:  "compacts the log by the command",
			holds: "an operator's verb: root's",
			route: "POST /v1/events/compact",
			do:    refused("admin", "events", "compact", "--keep", "3"),
		},
		{
			who:   alice,
			what:  "has belay recover from an older database",
			holds: "the machine is in system mode",
			quiet: byCommand,
			do:    refused("system mode", "recover"),
		},
		{who: alice, what: "reads the key that signs checkpoints", holds: modes, do: denied("list", stateOf(alice)+"/keys")},
		{who: 0, what: "verifies alice's log after all of this", holds: "tree, checkpoints and mark agree",
			do: func(s *stage) outcome {
				n := s.newest(alice).Seq
				out, code := s.onState(alice, "events", "verify")
				return outcome{held: code == 0 && n > 20, happened: "ok, " + strconv.FormatInt(n, 10) + " events",
					saw: strings.TrimSpace(out)}
			}},
	}
}
