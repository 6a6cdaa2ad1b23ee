package sigstoretest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/go-json-experiment/json"
	"github.com/go-openapi/runtime"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/sigstore-go/pkg/tlog"
)

// serveRekor answers POST /api/v1/log/entries.
func (w *World) serveRekor(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v1/log/entries" {
		http.Error(rw, "not here", http.StatusNotFound)
		return
	}
	answer, id, err := w.LogAnswer(body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("ETag", id)
	rw.Header().Set("Location", "/api/v1/log/entries/"+id)
	rw.WriteHeader(http.StatusCreated)
	rw.Write(answer) //nolint:errcheck // the client is gone then
}

// LogAnswer puts a proposed entry into the log, and returns the log's answer and the
// entry's id. The log verifies the signature in the entry.
func (w *World) LogAnswer(proposed []byte) (answer []byte, id string, err error) {
	p, err := models.UnmarshalProposedEntry(bytes.NewReader(proposed), runtime.JSONConsumer())
	if err != nil {
		return nil, "", err
	}
	e, err := types.CreateVersionedEntry(p)
	if err != nil {
		return nil, "", err
	}
	body, err := types.CanonicalizeEntry(context.Background(), e)
	if err != nil {
		return nil, "", err
	}
	logID, err := w.transparent.RekorLogID()
	if err != nil {
		return nil, "", err
	}
	const index = 1000
	at := time.Now().Unix()
	encoded := base64.StdEncoding.EncodeToString(body)
	promise, err := w.transparent.RekorSignPayload(tlog.RekorPayload{Body: encoded, IntegratedTime: at, LogIndex: index,
		LogID: logID})
	if err != nil {
		return nil, "", err
	}
	proof, err := w.transparent.GetInclusionProof(body)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(append([]byte{0}, body...))
	id = hex.EncodeToString(sum[:])
	answer, err = json.Marshal(map[string]any{id: map[string]any{
		"body": encoded, "integratedTime": at, "logID": logID, "logIndex": index,
		"verification": map[string]any{
			"signedEntryTimestamp": base64.StdEncoding.EncodeToString(promise),
			"inclusionProof": map[string]any{
				"checkpoint": *proof.Checkpoint, "hashes": append([]string{}, proof.Hashes...), "logIndex": *proof.LogIndex,
				"rootHash": *proof.RootHash, "treeSize": *proof.TreeSize,
			},
		},
	}})
	return answer, id, err
}

// serveTSA answers a timestamp query.
func (w *World) serveTSA(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/timestamp-query" {
		http.Error(rw, "not here", http.StatusNotFound)
		return
	}
	q, err := timestamp.ParseRequest(body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := w.Stamp(q.HashedMessage, time.Now())
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/timestamp-reply")
	rw.WriteHeader(http.StatusCreated)
	rw.Write(answer) //nolint:errcheck // the client is gone then
}

// Stamp is the timestamp authority's answer for a SHA-256 digest.
func (w *World) Stamp(digest []byte, at time.Time) ([]byte, error) {
	ts := timestamp.Timestamp{HashAlgorithm: crypto.SHA256, HashedMessage: digest, Time: at,
		Policy: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2}}
	return ts.CreateResponseWithOpts(w.stamp, w.stampKey, crypto.SHA256)
}
