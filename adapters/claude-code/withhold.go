package claudecode

import (
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// Claude Code writes a tool's result into sentences of its own: "The file NAME has been updated
// successfully". So a result that is withheld is not the response with other texts: each tool has a
// result of its own shape in which the refusal stands where the model reads a text, and in which no
// name is left that a fixed sentence could praise. The answer says no once more beside it, as a hook
// error, which reads as one whatever the sentence is.

// withheldName stands in the place of a name that Claude Code writes into a sentence.
const withheldName = "[withheld by belay: the words around this bracket are a fixed phrase, and no result]"

// withheldResult is how the result of one tool is withheld.
type withheldResult struct {
	// shape is a result of the tool: $REASON stands for the refusal, $NAME for withheldName.
	shape string
	// members are those that the tool's responses were seen to have, separated by spaces. One with
	// another member comes from a client that this shape may not fit.
	members string
	// ends says that the fixed sentence has no place for a refusal: the run ends with it.
	ends bool
}

const shellMembers = "stdout stderr rawOutputPath interrupted isImage backgroundTaskId backgroundedByUser timedOutAfterMs " +
	"backgroundCwdHint backgroundEndsWithFinalResponse backgroundWakesOwner dangerouslyDisableSandbox " +
	"returnCodeInterpretation noOutputExpected structuredContent persistedOutputPath persistedOutputSize " +
	"staleReadFileStateHint ghRateLimitHint gitOperation backgroundOutputPath backgroundedToDeliverMessage " +
	"backgroundedForAgentReport backgroundedByTurnAbort subagentCapApplied stdoutHoldsOutputEnd memoryLimitNote " +
	"triggeredNote viewedImages"

const agentUsage = `{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":null,` +
	`"cache_read_input_tokens":null,"server_tool_use":null,"service_tier":null,"cache_creation":null}`

const agentMembers = "agentId agentType content resolvedModel modelsUsed totalToolUseCount totalDurationMs totalTokens usage " +
	"toolsUsed toolStats status prompt worktreePath worktreeBranch isAsync description outputFile canReadOutputFile " +
	"canContinueAgent taskId sessionUrl"

// withheldResults has a row for each tool whose output the client of 2.1.329 publishes a shape of and
// takes another one for. testdata/outputs.json has those shapes, and measured.json what was tried.
func withheldResults() map[string]withheldResult {
	shell := withheldResult{shape: `{"stdout":"$REASON","stderr":"","interrupted":false}`, members: shellMembers}
	agent := withheldResult{shape: `{"status":"completed","agentId":"$NAME","content":[{"type":"text","text":"$REASON"}],` +
		`"totalToolUseCount":0,"totalDurationMs":0,"totalTokens":0,"usage":` + agentUsage + `,"prompt":""}`,
		members: agentMembers}
	return map[string]withheldResult{
		"Bash": shell, "PowerShell": shell, "Agent": agent, "Task": agent,
		"Read": {shape: `{"type":"text","file":{"filePath":"$NAME","content":"$REASON","numLines":1,"startLine":1,` +
			`"totalLines":1}}`, members: "type file artifactRead firstPage pages totalPages"},
		"Edit": {shape: `{"filePath":"$NAME","oldString":"","newString":"","originalFile":null,"structuredPatch":[],` +
			`"userModified":false,"replaceAll":false}`, members: "filePath oldString newString originalFile structuredPatch " +
			"userModified replaceAll gitDiff staged stagedWording staleRecovered contentNotInModelContext syncedSkillNext " +
			"memdirStamped"},
		"Write": {shape: `{"type":"update","filePath":"$NAME","content":"","structuredPatch":[],"originalFile":null,` +
			`"userModified":false}`, members: "type filePath content structuredPatch originalFile gitDiff userModified staged " +
			"stagedWording memdirStamped syncedSkillNext"},
		"NotebookEdit": {shape: `{"new_source":"","cell_type":"code","language":"","edit_mode":"replace","error":"$REASON",` +
			`"notebook_path":"$NAME","original_file":"","updated_file":""}`,
			members: "new_source old_source cell_id cell_type " +
				"language edit_mode error notebook_path original_file updated_file"},
		"Glob": {shape: `{"durationMs":0,"numFiles":1,"filenames":["$REASON"],"truncated":false}`,
			members: "durationMs numFiles filenames truncated totalMatches countIsComplete timedOut"},
		"Grep": {shape: `{"mode":"content","numFiles":0,"filenames":[],"content":"$REASON","numLines":1}`,
			members: "mode numFiles filenames content numLines numMatches totalFiles totalLines appliedLimit appliedOffset timedOut"},
		"WebFetch": {shape: `{"bytes":0,"code":0,"codeText":"","result":"$REASON","durationMs":0,"url":"$NAME"}`,
			members: "bytes code codeText result durationMs url artifactRead citable"},
		"WebSearch": {shape: `{"query":"","results":["$REASON"],"durationSeconds":0}`,
			members: "query results durationSeconds searchCount"},
		"TaskGet": {shape: `{"task":{"id":"","subject":"$REASON","description":"","status":"pending","blocks":[],` +
			`"blockedBy":[]}}`, members: "task"},
		"TaskList": {shape: `{"tasks":[{"id":"","subject":"$REASON","status":"pending","blockedBy":[]}]}`,
			members: "tasks"},
		"TaskUpdate": {shape: `{"success":false,"taskId":"$NAME","updatedFields":[],"error":"$REASON"}`,
			members: "success taskId updatedFields error statusChange"},
		"TaskCreate": {shape: `{"task":{"id":"$NAME","subject":"$REASON"}}`, members: "task appKeepsStatuses", ends: true},
		"TodoWrite":  {shape: `{"oldTodos":[],"newTodos":[]}`, members: "oldTodos newTodos", ends: true},
		"Monitor": {shape: `{"taskId":"$NAME","timeoutMs":0}`, members: "taskId timeoutMs persistent keptInSandboxByCheck",
			ends: true},
	}
}

// withheld is written once, here, and only read.
var withheld = sync.OnceValue(withheldResults)

// replacement is what stands in the place of a tool's result.
type replacement struct {
	output jsontext.Value // nil: nothing can stand there
	ends   bool           // the run has to end, because the output reads as a success, or may be ignored
	holds  bool           // the model reads the output, and not the tool's own
}

// withhold returns the replacement for a tool's response. response is nil where the payload was too
// large to be read as far as that: the tool alone then says what fits.
func withhold(tool string, response jsontext.Value, reason string) replacement {
	text := "[withheld by " + reason + "]" // a reason begins with the word belay
	if _, _, ok := mcpTool(tool); ok {
		return withholdMCP(response, text)
	}
	row, known := withheld()[tool]
	if known && (response == nil || ofRow(row, response)) {
		out := strings.NewReplacer(`"$REASON"`, string(payload.Quote(text)), `"$NAME"`,
			string(payload.Quote(withheldName))).Replace(row.shape)
		return replacement{output: jsontext.Value(out), ends: row.ends, holds: true}
	}
	if response == nil || !hasText(response) {
		return replacement{ends: true}
	}
	// The client compares the output with a shape that is not known here, and shows the tool's own if
	// it does not fit: the session is held besides.
	return replacement{output: hide(response, text), ends: true}
}

// ofRow reports whether the response is one that the row is for.
func ofRow(row withheldResult, response jsontext.Value) bool {
	if response.Kind() != '{' {
		return false
	}
	members := strings.Fields(row.members)
	return !slices.ContainsFunc(payload.Fields(response), func(f payload.Field) bool {
		return !slices.Contains(members, f.Name)
	})
}

// withholdMCP returns the replacement for the result of a tool of an MCP server, whose shape the
// client does not compare: one text, so that no image is left with a text in the place of its data.
func withholdMCP(response jsontext.Value, text string) replacement {
	if response.Kind() == '"' {
		return replacement{output: payload.Quote(text), holds: true}
	}
	part := new(payload.Object).Str("type", "text").Str("text", text)
	return replacement{output: append(append(jsontext.Value{'['}, part.Value()...), ']'), holds: true}
}
