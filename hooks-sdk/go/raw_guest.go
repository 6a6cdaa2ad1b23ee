//go:build wasm || tinygo.wasm

package hook

import "unsafe"

// The ABI itself. Pointers go with their lengths; the host reads or writes
// nothing else. Only what a hook reaches becomes an import of its module.

//go:wasmimport belay_v1 input_read
//go:noescape
func importInputRead(d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 input_get
//go:noescape
func importInputGet(p1 unsafe.Pointer, n1 uint32, d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 input_kind
//go:noescape
func importInputKind(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 input_keys
//go:noescape
func importInputKeys(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 config_read
//go:noescape
func importConfigRead(d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 config_get
//go:noescape
func importConfigGet(p1 unsafe.Pointer, n1 uint32, d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 config_kind
//go:noescape
func importConfigKind(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 config_keys
//go:noescape
func importConfigKeys(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 reply_read
//go:noescape
func importReplyRead(d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 log
//go:noescape
func importLog(i int32, p2 unsafe.Pointer, n2 uint32) int32

//go:wasmimport belay_v1 fail
//go:noescape
func importFail(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 block
//go:noescape
func importBlock(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 request_approval
//go:noescape
func importRequestApproval(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 rewrite
//go:noescape
func importRewrite(p1 unsafe.Pointer, n1 uint32, p2 unsafe.Pointer, n2 uint32, i int32) int32

//go:wasmimport belay_v1 redact
//go:noescape
func importRedact(p1 unsafe.Pointer, n1 uint32, p2 unsafe.Pointer, n2 uint32) int32

//go:wasmimport belay_v1 clamp_scopes
//go:noescape
func importClampScopes(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 annotate
//go:noescape
func importAnnotate(p1 unsafe.Pointer, n1 uint32, p2 unsafe.Pointer, n2 uint32) int32

//go:wasmimport belay_v1 add_context
//go:noescape
func importAddContext(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 retry
//go:noescape
func importRetry(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 reply
//go:noescape
func importReply(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 put_artifact
//go:noescape
func importPutArtifact(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 grant
//go:noescape
func importGrant(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 shell_parse
//go:noescape
func importShellParse(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 path_resolve
//go:noescape
func importPathResolve(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 pattern_match
//go:noescape
func importPatternMatch(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 find_secrets
//go:noescape
func importFindSecrets(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 request_tool_call
//go:noescape
func importRequestToolCall(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 request_lease
//go:noescape
func importRequestLease(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 check_lease
//go:noescape
func importCheckLease(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 mint_lease
//go:noescape
func importMintLease(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 revoke_lease
//go:noescape
func importRevokeLease(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 http_request
//go:noescape
func importHttpRequest(p1 unsafe.Pointer, n1 uint32) int32

//go:wasmimport belay_v1 state_get
//go:noescape
func importStateGet(p1 unsafe.Pointer, n1 uint32, d unsafe.Pointer, c uint32) int32

//go:wasmimport belay_v1 state_put
//go:noescape
func importStatePut(p1 unsafe.Pointer, n1 uint32, p2 unsafe.Pointer, n2 uint32) int32

//go:wasmimport belay_v1 time_now
//go:noescape
func importTimeNow() int64

//go:wasmimport belay_v1 random
//go:noescape
func importRandom(d unsafe.Pointer, c uint32) int32

func rawInputRead(d []byte) int32 {
	return importInputRead(unsafe.Pointer(unsafe.SliceData(d)), uint32(len(d)))
}
func rawInputGet(s1 string, d []byte) int32 {
	return importInputGet(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)), unsafe.Pointer(unsafe.SliceData(d)), uint32(len(d)))
}
func rawInputKind(s1 string) int32 {
	return importInputKind(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawInputKeys(s1 string) int32 {
	return importInputKeys(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawConfigRead(d []byte) int32 {
	return importConfigRead(unsafe.Pointer(unsafe.SliceData(d)), uint32(len(d)))
}
func rawConfigGet(s1 string, d []byte) int32 {
	return importConfigGet(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)), unsafe.Pointer(unsafe.SliceData(d)), uint32(len(d)))
}
func rawConfigKind(s1 string) int32 {
	return importConfigKind(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawConfigKeys(s1 string) int32 {
	return importConfigKeys(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawReplyRead(d []byte) int32 {
	return importReplyRead(unsafe.Pointer(unsafe.SliceData(d)), uint32(len(d)))
}
func rawLog(i int32, s2 string) int32 {
	return importLog(i, unsafe.Pointer(unsafe.StringData(s2)), uint32(len(s2)))
}
func rawFail(s1 string) int32 {
	return importFail(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawBlock(s1 string) int32 {
	return importBlock(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawRequestApproval(s1 string) int32 {
	return importRequestApproval(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawRewrite(s1 string, s2 string, i int32) int32 {
	return importRewrite(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)), unsafe.Pointer(unsafe.StringData(s2)), uint32(len(s2)), i)
}
func rawRedact(s1 string, s2 string) int32 {
	return importRedact(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)), unsafe.Pointer(unsafe.StringData(s2)), uint32(len(s2)))
}
func rawClampScopes(s1 string) int32 {
	return importClampScopes(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawAnnotate(s1 string, s2 string) int32 {
	return importAnnotate(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)), unsafe.Pointer(unsafe.StringData(s2)), uint32(len(s2)))
}
func rawAddContext(s1 string) int32 {
	return importAddContext(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawRetry(s1 string) int32 {
	return importRetry(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawReply(s1 string) int32 {
	return importReply(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawPutArtifact(s1 string) int32 {
	return importPutArtifact(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawGrant(s1 string) int32 {
	return importGrant(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawShellParse(s1 string) int32 {
	return importShellParse(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawPathResolve(s1 string) int32 {
	return importPathResolve(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawPatternMatch(s1 string) int32 {
	return importPatternMatch(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawFindSecrets(s1 string) int32 {
	return importFindSecrets(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawRequestToolCall(s1 string) int32 {
	return importRequestToolCall(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawRequestLease(s1 string) int32 {
	return importRequestLease(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawCheckLease(s1 string) int32 {
	return importCheckLease(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawMintLease(s1 string) int32 {
	return importMintLease(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawRevokeLease(s1 string) int32 {
	return importRevokeLease(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawHTTPRequest(s1 string) int32 {
	return importHttpRequest(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)))
}
func rawStateGet(s1 string, d []byte) int32 {
	return importStateGet(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)), unsafe.Pointer(unsafe.SliceData(d)), uint32(len(d)))
}
func rawStatePut(s1 string, s2 string) int32 {
	return importStatePut(unsafe.Pointer(unsafe.StringData(s1)), uint32(len(s1)), unsafe.Pointer(unsafe.StringData(s2)), uint32(len(s2)))
}
func rawTimeNow() int64 { return importTimeNow() }
func rawRandom(d []byte) int32 {
	return importRandom(unsafe.Pointer(unsafe.SliceData(d)), uint32(len(d)))
}
