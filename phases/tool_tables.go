package phases

// toolTables returns for each runtime the names that it gives its own tools. A name maps to the
// normalised one of KnownTools, or to "" for a tool of the runtime that has none: it keeps its own
// name, and what it does is read off its call (see Invocation.ToolNames).
//
// A runtime has the names of its own versions only, never those of another: what "search" does
// belongs to the agent that calls it. Older names stand beside today's.
func toolTables() map[string]map[string]string {
	return map[string]map[string]string{
		"claude-code":           claudeTools(),
		"codex":                 codexTools(),
		"gemini-cli":            geminiTools(),
		"opencode":              openCodeTools(),
		"openclaw":              openClawTools(),
		"openclaw-interceptors": {"bash": "exec"}, // a draft, whose names are the normalised ones
		"cursor":                cursorTools(),
	}
}

// claudeTools names the tools of Claude Code. testdata/tools/claude-code.txt lists those of one
// version; the target that runs the real client compares.
func claudeTools() map[string]string {
	t := map[string]string{
		// These take a command or code. A tool of the MCP server "workspace" that runs one is no entry
		// of this table: its name stays that of a server, and its call is judged as a command.
		"Bash": "exec", "PowerShell": "exec", "Monitor": "exec", "REPL": "exec", "Eval": "exec",
		"BashOutput": "process", "KillShell": "process", "KillBash": "process", "TaskOutput": "process",
		"TaskStop": "process",
		"Read":     "read", "NotebookRead": "read",
		"Write": "write",
		"Edit":  "edit", "MultiEdit": "edit", "NotebookEdit": "edit",
		"Grep": "grep", "Glob": "glob", "LS": "list", "LSP": "lsp",
		"WebFetch": "web_fetch", "WebSearch": "web_search",
		"TodoWrite": "todo", "TodoRead": "todo", "TaskCreate": "todo", "TaskUpdate": "todo", "TaskList": "todo",
		"TaskGet":       "todo",
		"EnterPlanMode": "plan", "ExitPlanMode": "plan",
		"AskUserQuestion": "ask_user", "Skill": "skill", "SlashCommand": "skill", "ToolSearch": "tool_search",
		"Agent": "sessions_spawn", "Task": "sessions_spawn", "SendMessage": "sessions_send",
		"ListAgents": "agents_list", "ListPeers": "agents_list",
		"CronCreate": "cron", "CronDelete": "cron", "CronList": "cron",
	}
	for _, own := range []string{"Artifact", "Brief", "ClaudeDesign", "EndConversation", "EnterWorktree", "ExitWorktree",
		"ListMcpResources", "ListMcpResourcesTool", "OfferChromeSetup", "Projects", "ProposeGoal", "PushNotification",
		"ReadMcpResource", "ReadMcpResourceDir", "ReadMcpResourceDirTool", "ReadMcpResourceTool", "ReadNotifications",
		"RemoteTrigger", "ReportFindings", "ScheduleWakeup", "SendFeedback", "SendUserFile", "SendUserMessage", "SetGoal",
		"ShareOnboardingGuide", "ShowOnboardingRolePicker", "SubagentHandback", "WaitForMcpServers", "Workflow",
		"propose_skills"} {
		t[own] = ""
	}
	return t
}

// codexTools names the tools of Codex CLI, both as its hooks call them (Bash) and as its model does.
func codexTools() map[string]string {
	t := map[string]string{
		"Bash": "exec", "shell": "exec", "shell_command": "exec", "local_shell": "exec", "exec_command": "exec",
		"container.exec": "exec", "unified_exec": "exec", "js_repl": "exec", "js_repl_reset": "process",
		"code_mode": "exec", "write_stdin": "process",
		"read_file": "read", "view_image": "read", "grep_files": "grep", "list_dir": "list",
		"apply_patch": "apply_patch", "web_search": "web_search", "web_search_preview": "web_search",
		"update_plan": "todo", "request_user_input": "ask_user", "tool_search": "tool_search",
		"spawn_agent": "sessions_spawn", "spawn_agents_on_csv": "sessions_spawn", "send_input": "sessions_send",
		"send_message": "sessions_send", "followup_task": "sessions_send", "list_agents": "agents_list",
		"image_generation": "image",
	}
	for _, own := range []string{"artifacts", "close_agent", "interrupt_agent", "list_mcp_resources",
		"read_mcp_resource", "request_permissions", "resume_agent", "tool_suggest", "wait", "wait_agent"} {
		t[own] = ""
	}
	return t
}

// geminiTools names the tools of Gemini CLI.
func geminiTools() map[string]string {
	t := map[string]string{
		"run_shell_command": "exec",
		"read_file":         "read", "read_many_files": "read", "write_file": "write", "replace": "edit",
		"grep_search": "grep", "search_file_content": "grep", "glob": "glob", "list_directory": "list",
		"web_fetch": "web_fetch", "google_web_search": "web_search",
		"save_memory": "memory_save", "write_todos": "todo",
		"tracker_create_task": "todo", "tracker_update_task": "todo", "tracker_get_task": "todo",
		"tracker_list_tasks": "todo", "tracker_add_dependency": "todo", "tracker_visualize": "todo",
		"enter_plan_mode": "plan", "exit_plan_mode": "plan", "ask_user": "ask_user", "activate_skill": "skill",
		"invoke_agent": "sessions_spawn", "delegate_to_agent": "sessions_spawn",
	}
	for _, own := range []string{"complete_task", "get_internal_docs", "list_mcp_resources", "read_mcp_resource",
		"take_snapshot", "update_topic"} {
		t[own] = ""
	}
	return t
}

// openCodeTools names the tools of OpenCode.
func openCodeTools() map[string]string {
	return map[string]string{
		"bash": "exec", "shell": "exec",
		"read": "read", "write": "write", "edit": "edit", "multiedit": "edit", "patch": "apply_patch",
		"apply_patch": "apply_patch", "grep": "grep", "codesearch": "web_search", "glob": "glob", "list": "list",
		"lsp": "lsp", "webfetch": "web_fetch", "websearch": "web_search",
		"todowrite": "todo", "todoread": "todo", "plan_enter": "plan", "plan_exit": "plan", "question": "ask_user",
		"skill": "skill", "task": "sessions_spawn",
		"batch": "", "invalid": "",
	}
}

// openClawTools names the tools of OpenClaw. Most of the normalised names are OpenClaw's own: those are
// left out. testdata/tools/openclaw.txt lists what one version offers its model.
func openClawTools() map[string]string {
	t := map[string]string{
		"bash": "exec", "ls": "list", "automations": "cron", "sessions_search": "sessions_history",
		// of a paired node: the paths are on another machine, and judged as if they were on this one
		"file_fetch": "read", "file_write": "write", "dir_fetch": "read", "dir_list": "list",
	}
	for _, own := range []string{"agents_wait", "conversations_list", "conversations_send", "conversations_turn",
		"create_goal", "dashboard", "get_goal", "intent", "mobile_ui", "node_inference", "openclaw", "plugins", "portal",
		"progress_card", "secrets", "sessions", "sessions_yield", "skill_workshop", "subagents", "talk_voice", "terminal",
		"theme", "tool_call", "tool_describe", "tool_search_code", "transcripts", "update_goal", "wait"} {
		t[own] = ""
	}
	return t
}

// cursorTools names the tools of Cursor, by a description: belay has not seen them run.
func cursorTools() map[string]string {
	return map[string]string{
		"Shell": "exec", "run_terminal_cmd": "exec", "run_terminal_command": "exec",
		"Read": "read", "read_file": "read", "Write": "write", "edit_file": "edit", "search_replace": "edit",
		"Grep": "grep", "grep_search": "grep", "codebase_search": "grep", "file_search": "glob", "list_dir": "list",
		"web_search": "web_search", "Task": "sessions_spawn", "todo_write": "todo",
	}
}
