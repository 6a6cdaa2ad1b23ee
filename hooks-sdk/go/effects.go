package hook

// Block stops the action. The first reason stays; it is cut at 4 KiB. Never refused.
func Block(reason string) { rawBlock(reason) }

// Ask lets a person decide. ttlSeconds says after how long the question counts
// as denied; 0 for the operator's default.
func Ask(reason string, ttlSeconds int64) {
	var w Writer
	w.Begin('{').Key("reason").Text(reason)
	if ttlSeconds > 0 {
		w.Key("ttl_s").Int(ttlSeconds)
	}
	rawRequestApproval(w.End('}').String())
}

const (
	kindJSON   int32 = 0
	kindText   int32 = 1
	kindRemove int32 = 2
)

// RewriteText replaces the value at a JSON Pointer by a string, or adds it when
// only its last step is missing.
func RewriteText(path, text string) { rawRewrite(path, text, kindText) }

// RewriteJSON replaces the value at a JSON Pointer by JSON, or adds it when only
// its last step is missing.
func RewriteJSON(path, json string) { rawRewrite(path, json, kindJSON) }

// Remove removes the value at a JSON Pointer.
func Remove(path string) { rawRewrite(path, "", kindRemove) }

// Redact masks the value at a JSON Pointer, in the action and in the record; the
// label (≤ 64 bytes) says what stood there.
func Redact(path, label string) { rawRedact(path, label) }

// Scopes are the widest that a hook leaves to an action. A nil list leaves its
// set as it is; an empty one that is not nil leaves nothing of it.
type Scopes struct {
	FSRead, FSWrite []string // paths: exact, or DIR/**
	Net             []string // HOST:PORT; hosts exact or *.suffix
	Tools           []string // exact, or ns:*
}

// ClampScopes narrows what the action may touch.
func ClampScopes(s Scopes) {
	var w Writer
	w.Begin('{')
	for _, set := range []struct {
		name     string
		patterns []string
	}{{"fs_read", s.FSRead}, {"fs_write", s.FSWrite}, {"net", s.Net}, {"tools", s.Tools}} {
		if set.patterns != nil {
			w.Key(set.name).Texts(set.patterns)
		}
	}
	rawClampScopes(w.End('}').String())
}

// AnnotateText puts a string into the run's metadata, where later hooks and
// phases read it as /metadata/KEY/value.
func AnnotateText(key, text string) {
	var w Writer
	rawAnnotate(key, w.Text(text).String())
}

// AnnotateJSON puts any JSON value into the run's metadata.
func AnnotateJSON(key, json string) { rawAnnotate(key, json) }

// AddContext adds text for the agent, labelled with the hook's name; at most 4 KiB.
func AddContext(text string) { rawAddContext(text) }

// Retry sends the agent on with an instruction, at most max times in a run.
// post_receive only.
func Retry(instruction string, max int64) {
	var w Writer
	rawRetry(w.Begin('{').Key("instruction").Text(instruction).Key("max").Int(max).End('}').String())
}

// Reply answers instead of the model. pre_plan and pre_send only.
func Reply(text string) {
	var w Writer
	rawReply(w.Begin('{').Key("text").Text(text).End('}').String())
}

// Artifact is a document to leave beside the verdict.
type Artifact struct {
	Name      string // such as result.txt
	MediaType string // such as text/plain
	Text      string
	Meta      string // a JSON object with what else is known about it, or ""
}

// PutArtifact leaves a document beside the verdict.
func PutArtifact(a Artifact) {
	var w Writer
	w.Begin('{').Key("name").Text(a.Name).Key("media_type").Text(a.MediaType).Key("text").Text(a.Text)
	if a.Meta != "" {
		w.Key("meta").JSON(a.Meta)
	}
	rawPutArtifact(w.End('}').String())
}

// Grant spares the agent its own permission prompt. Trusted hooks only.
func Grant(reason string) { rawGrant(reason) }
