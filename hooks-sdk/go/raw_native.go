//go:build !wasm && !tinygo.wasm

package hook

import "github.com/belay-hooks/belay/hooks-sdk/go/internal/host"

// Natively there is no belay: the test host of package hooktest answers.

func rawInputRead(d []byte) int32                    { return host.Current().Read("input_read", "", d) }
func rawInputGet(s1 string, d []byte) int32          { return host.Current().Read("input_get", s1, d) }
func rawInputKind(s1 string) int32                   { return host.Current().Call("input_kind", s1, "") }
func rawInputKeys(s1 string) int32                   { return host.Current().Call("input_keys", s1, "") }
func rawConfigRead(d []byte) int32                   { return host.Current().Read("config_read", "", d) }
func rawConfigGet(s1 string, d []byte) int32         { return host.Current().Read("config_get", s1, d) }
func rawConfigKind(s1 string) int32                  { return host.Current().Call("config_kind", s1, "") }
func rawConfigKeys(s1 string) int32                  { return host.Current().Call("config_keys", s1, "") }
func rawReplyRead(d []byte) int32                    { return host.Current().Read("reply_read", "", d) }
func rawLog(i int32, s2 string) int32                { return host.Current().Log(i, s2) }
func rawFail(s1 string) int32                        { return host.Current().Call("fail", s1, "") }
func rawBlock(s1 string) int32                       { return host.Current().Call("block", s1, "") }
func rawRequestApproval(s1 string) int32             { return host.Current().Call("request_approval", s1, "") }
func rawRewrite(s1 string, s2 string, i int32) int32 { return host.Current().Rewrite(s1, s2, i) }
func rawRedact(s1 string, s2 string) int32           { return host.Current().Call("redact", s1, s2) }
func rawClampScopes(s1 string) int32                 { return host.Current().Call("clamp_scopes", s1, "") }
func rawAnnotate(s1 string, s2 string) int32         { return host.Current().Call("annotate", s1, s2) }
func rawAddContext(s1 string) int32                  { return host.Current().Call("add_context", s1, "") }
func rawRetry(s1 string) int32                       { return host.Current().Call("retry", s1, "") }
func rawReply(s1 string) int32                       { return host.Current().Call("reply", s1, "") }
func rawPutArtifact(s1 string) int32                 { return host.Current().Call("put_artifact", s1, "") }
func rawGrant(s1 string) int32                       { return host.Current().Call("grant", s1, "") }
func rawShellParse(s1 string) int32                  { return host.Current().Call("shell_parse", s1, "") }
func rawPathResolve(s1 string) int32                 { return host.Current().Call("path_resolve", s1, "") }
func rawPatternMatch(s1 string) int32                { return host.Current().Call("pattern_match", s1, "") }
func rawFindSecrets(s1 string) int32                 { return host.Current().Call("find_secrets", s1, "") }
func rawRequestToolCall(s1 string) int32             { return host.Current().Call("request_tool_call", s1, "") }
func rawRequestLease(s1 string) int32                { return host.Current().Call("request_lease", s1, "") }
func rawCheckLease(s1 string) int32                  { return host.Current().Call("check_lease", s1, "") }
func rawMintLease(s1 string) int32                   { return host.Current().Call("mint_lease", s1, "") }
func rawRevokeLease(s1 string) int32                 { return host.Current().Call("revoke_lease", s1, "") }
func rawHTTPRequest(s1 string) int32                 { return host.Current().Call("http_request", s1, "") }
func rawStateGet(s1 string, d []byte) int32          { return host.Current().Read("state_get", s1, d) }
func rawStatePut(s1 string, s2 string) int32         { return host.Current().Call("state_put", s1, s2) }
func rawTimeNow() int64                              { return host.Current().TimeNow() }
func rawRandom(d []byte) int32                       { return host.Current().Random(d) }
