// Package daemonapi holds what the daemon and its clients agree on beside the documents of
// client/wire: files of the state directory, media types, a header and limits. It decides
// whether the daemon of this user is who listens on a socket, and carries one question over
// it. It decides nothing about actions, and never bypasses a daemon that runs.
package daemonapi

import (
	"path/filepath"
	"time"
)

// SocketName is the name of the daemon's socket in its state directory, LockName
// that of the file which it keeps locked while it runs.
const (
	SocketName = "belay.sock"
	LockName   = "belay.lock"
)

// TokenPath returns where a state directory keeps the token of a role.
func TokenPath[R ~string](dir string, role R) string {
	return filepath.Join(dir, "keys", string(role)+".token")
}

// CertificatePath returns where a state directory keeps the certificate by which clients
// know its daemon on the loopback address. It is no secret.
func CertificatePath(dir string) string { return filepath.Join(dir, "keys", "tls.crt") }

const (
	// AnswerType is the media type in which a caller of /adapters/RUNTIME gets the
	// whole client.Answer instead of what the runtime reads over HTTP.
	AnswerType = "application/vnd.belay.answer+json"
	// RecordingType is the media type of a recording: JSON, one value a line.
	RecordingType = "application/vnd.belay.recording+jsonl"
	// StatementHeader carries a reviewer's statement where a request has no body: its JSON in
	// base64url without padding.
	StatementHeader = "Belay-Statement"
	// HeadlessHeader, with any value, says of a runtime's event that no person can answer a
	// question of the runtime. A daemon that does not know it lets the runtime refuse.
	HeadlessHeader = "Belay-Headless"
)

// MaxWait is how long one request waits for a decision at most.
const MaxWait = 60 * time.Second
