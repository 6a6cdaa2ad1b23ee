package systemtest

import (
	"fmt"
	"os"
	"strings"
)

const rowSettings = "a process that can write belay.yaml"

func configurationTries() []try {
	var tries []try
	for _, c := range [][3]string{
		{"writes belay.yaml", "write", "/etc/belay/belay.yaml"},
		{"writes system.yaml", "write", "/etc/belay/system.yaml"},
		{"removes system.yaml, which is what system mode is", "remove", "/etc/belay/system.yaml"},
		{"makes belay.yaml writable", "chmod", "/etc/belay/belay.yaml"},
		{"makes belay.yaml her own", "chown", "/etc/belay/belay.yaml"},
		{"puts a trust policy of her own into /etc/belay", "write", "/etc/belay/trust.yaml"},
		{"writes the unit of the daemon", "write", "/etc/systemd/system/belay.service"},
		{"puts a drop-in beside the unit", "mkdir", "/etc/systemd/system/belay.service.d"},
	} {
		row := ""
		if strings.Contains(c[2], "belay.yaml") || strings.Contains(c[2], "system.yaml") {
			row = rowSettings
		}
		tries = append(tries, try{who: alice, what: c[0], holds: rootsIs, row: row, do: denied(c[1], c[2])})
	}
	const own = "an operator's verb: root's"
	tries = append(
		tries,
		try{
			who:   alice,
			what:  "has the configuration taken up",
			holds: own,
			route: "POST /v1/reload",
			do:    refused("admin", "reload"),
		},
		try{
			who:   alice,
			what:  "accepts a configuration",
			holds: own,
			route: "POST /v1/config/accept",
			do:    refused("role", "config", "accept"),
		},
		try{
			who:   alice,
			what:  "makes a state directory",
			holds: "the machine is in system mode",
			quiet: byCommand,
			row:   "open the state directory themselves",
			do:    refused("system mode", "init"),
		},
		try{who: alice, what: "starts a daemon of her own", holds: "the machine is in system mode", quiet: byCommand,
			row: "another process can listen in the daemon's place", do: refused("system mode", "serve")},
		try{
			who:   alice,
			what:  "decides in a process of her own, with a hook of her own",
			holds: "the machine is in system mode",
			quiet: byCommand,
			do:    refused("system mode", "--state", "/home/alice/own", "eval", "--hook", "/x.wasm"),
		},
		try{who: alice, what: "binds a hook", holds: "the machine is in system mode", quiet: byCommand,
			do: refused("system mode", "hook", "install", "builtin:command-guard")},
		try{
			who:   alice,
			what:  "asks doctor before her runtime is connected",
			holds: "told to have root connect it",
			quiet: looks,
			do: func(s *stage) outcome {
				s.must(os.MkdirAll(s.path("etc/claude-code"), 0o755))
				s.files(alice, map[string]string{"home/alice/.claude/settings.json": "{}"})
				out, code := s.belay(alice, "doctor")
				return outcome{held: code == 1 && strings.Contains(out, "sudo belay system connect claude-code"),
					happened: fmt.Sprintf("exit %d: red", code), saw: out}
			},
		},
		try{
			who:   alice,
			what:  "connects her runtime by her own settings",
			holds: "root connects it, by managed settings",
			quiet: byCommand,
			do:    refused("root connects claude-code by managed settings", "connect", "claude-code", "--yes"),
		},
		try{who: 0, what: "connects the runtimes of every user", holds: "each asks the machine's daemon",
			do: func(s *stage) outcome {
				out, code := s.belay(0, "system", "connect")
				return outcome{held: code == 0 && strings.Contains(out, "asks the machine's daemon"), happened: "done", saw: out}
			}},
		try{who: alice, what: "writes the managed settings", holds: rootsIs, row: rowSettings,
			do: denied("write", "/etc/claude-code/managed-settings.json")},
		try{who: alice, what: "puts other managed settings in their place", holds: rootsIs,
			do: denied("rename", "/home/alice/own/belay.yaml", "/etc/claude-code/managed-settings.json")},
		try{
			who:   alice,
			what:  "asks doctor again",
			holds: "told who decides, and what asks it",
			quiet: looks,
			do: func(s *stage) outcome {
				out, _ := s.belay(alice, "doctor")
				return outcome{held: strings.Contains(out, fmt.Sprintf("uid %d", s.daemonUID())) &&
					strings.Contains(out, "asks belay about all") && strings.Contains(out, "(managed settings)") &&
					strings.Contains(out, "is root's, and valid"), happened: "managed settings hold", saw: out}
			},
		},
	)
	return append(tries, layerTries()...)
}
