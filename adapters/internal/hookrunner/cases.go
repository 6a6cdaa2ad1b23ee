package hookrunner

// Case is one way in which several handlers of a hook return values, and what the runner makes of them.
type Case struct {
	Name, Hook string
	Values     []Value // nil: the handler returns nothing
	Want       Value
	Ran        int // handlers that are asked
}

// Cases returns a case for each rule.
func Cases() []Case {
	text := func(s string) Value { return Value{"message": map[string]any{"role": "user", "content": s}} }
	retry := func(s string) any { return map[string]any{"instruction": s} }
	none := []Value{nil, nil}
	return []Case{
		{"no opinion", "before_tool_call", none, nil, 2},
		{"the last params", "before_tool_call", []Value{{"params": m("a")}, {"params": m("b")}, nil},
			Value{"params": m("b")}, 3},
		{"a block is sticky, and stops the chain", "before_tool_call",
			[]Value{{"block": true, "blockReason": "x"}, {"block": false, "params": m("b")}},
			Value{"block": true, "blockReason": "x"}, 1},
		{"block: false is no decision", "before_tool_call", []Value{{"block": false}, {"params": m("b")}},
			Value{"params": m("b")}, 2},
		{"a question freezes the params", "before_tool_call",
			[]Value{{"params": m("a"), "requireApproval": m("q")}, {"params": m("b"), "requireApproval": m("r")}},
			Value{"params": m("a"), "requireApproval": m("q")}, 2},
		{"a later block stands beside a question", "before_tool_call",
			[]Value{{"requireApproval": m("q")}, {"block": true, "blockReason": "x"}},
			Value{"requireApproval": m("q"), "block": true, "blockReason": "x"}, 2},
		{"the first block", "before_agent_run", []Value{{"outcome": "pass"}, {"outcome": "block", "reason": "a"},
			{"outcome": "block", "reason": "b"}}, Value{"outcome": "block", "reason": "a"}, 2},
		{"what is no decision blocks", "before_agent_run", []Value{{"outcome": "pass", "more": true}, nil},
			Value{"outcome": "block", "reason": "before_agent_run returned an invalid decision"}, 1},
		{"a block without a reason is none, and blocks", "before_agent_run", []Value{{"outcome": "block"}},
			Value{"outcome": "block", "reason": "before_agent_run returned an invalid decision"}, 1},
		{"findings are put together", "before_install", []Value{{"findings": []any{"a"}},
			{"findings": []any{"b"}, "block": true, "blockReason": "x"}, {"findings": []any{"c"}}},
			Value{"findings": []any{"a", "b"}, "block": true, "blockReason": "x"}, 2},
		{"the first model", "before_model_resolve", []Value{{"providerOverride": "p"}, {"modelOverride": "a"},
			{"modelOverride": "b", "providerOverride": "q"}}, Value{"modelOverride": "a", "providerOverride": "p"}, 3},
		{"contexts one after the other", "agent_turn_prepare", []Value{{"prependContext": "a"},
			{"prependContext": "b", "appendContext": "c"}}, Value{"prependContext": "a\n\nb", "appendContext": "c"}, 2},
		{"likewise", "heartbeat_prompt_contribution", []Value{{"appendContext": "a"}, {"appendContext": "b"}},
			Value{"appendContext": "a\n\nb"}, 2},
		{"the first system prompt, and the tools of both", "before_prompt_build",
			[]Value{{"systemPrompt": "a", "toolsAllow": []any{"read", "exec"}},
				{"systemPrompt": "b", "toolsAllow": []any{"read"}, "appendSystemContext": "c"}},
			Value{"systemPrompt": "a", "toolsAllow": []any{"read"}, "appendSystemContext": "c"}, 2},
		{"what is no list of tools allows none", "before_prompt_build", []Value{{"toolsAllow": "read"}},
			Value{"toolsAllow": []any{}}, 1},
		{"finalize goes before revise", "before_agent_finalize", []Value{{"action": "revise", "reason": "a"},
			{"action": "finalize", "reason": "b"}}, Value{"action": "finalize", "reason": "b"}, 2},
		{"finalize stays", "before_agent_finalize", []Value{{"action": "finalize", "reason": "b"},
			{"action": "revise", "reason": "a"}}, Value{"action": "finalize", "reason": "b"}, 2},
		{"revise goes before continue", "before_agent_finalize", []Value{{"action": "continue"},
			{"action": "revise", "reason": "a"}, {"action": "continue"}}, Value{"action": "revise", "reason": "a"}, 3},
		{"reasons are put together, and the first retry counts", "before_agent_finalize",
			[]Value{{"action": "revise", "reason": "a"}, {"action": "revise", "reason": "b", "retry": retry("r")},
				{"action": "revise", "reason": "c", "retry": retry("s")}},
			Value{"action": "revise", "reason": "a\n\nb\n\nc", "retry": retry("r")}, 3},
		{"the last content", "message_sending", []Value{{"content": "a"}, {"content": "b"}}, Value{"content": "b"}, 2},
		{"a cancel stops the chain", "message_sending", []Value{{"cancel": true, "cancelReason": "x"}, {"content": "b"}},
			Value{"cancel": true, "cancelReason": "x"}, 1},
		{"each payload goes on", "reply_payload_sending", []Value{{"payload": m("a")}, {"payload": m("b")}},
			Value{"payload": m("b")}, 2},
		{"later variables win", "resolve_exec_env", []Value{{"A": "1", "B": "1"}, {"A": "2"}}, Value{"A": "2", "B": "1"}, 2},
		{"the first origin", "subagent_delivery_target", []Value{{"origin": m("a")}, {"origin": m("b")}},
			Value{"origin": m("a")}, 2},
		{"one block is enough", "skill_proposal_evaluate", []Value{{"decision": "pass"}, {"decision": "block"},
			{"decision": "pass"}}, Value{"decision": "block"}, 3},
		{"the first claim", "before_agent_reply", []Value{{"handled": false}, {"handled": true, "reply": m("a")},
			{"handled": true}}, Value{"handled": true, "reply": m("a")}, 2},
		{"nothing is claimed", "inbound_claim", []Value{{"handled": false}, nil}, nil, 2},
		{"the first claim", "before_dispatch", []Value{{"handled": true, "text": "a"}, {"handled": true}},
			Value{"handled": true, "text": "a"}, 1},
		{"what is not empty claims", "reply_dispatch", []Value{{"handled": ""}, {"handled": "yes"}, {"handled": true}},
			Value{"handled": "yes"}, 2},
		{"each message goes on", "tool_result_persist", []Value{text("a"), nil, text("b")}, text("b"), 3},
		{"a block stops the chain", "before_message_write", []Value{text("a"), {"block": true}, text("b")},
			Value{"block": true}, 2},
	}
}

// m is some object.
func m(name string) map[string]any { return map[string]any{"name": name} }
