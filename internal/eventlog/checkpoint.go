// Package eventlog decides whether a log of events is the signed one: it signs
// checkpoints of a store's Merkle tree (kernel.Log), verifies a log against
// them, and makes and checks proofs that one event is in the log.
//
// It never repairs anything, and it claims nothing against an attacker who
// holds the database, the signing key and every copy of the checkpoints.
package eventlog

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Origin is the first line of every checkpoint.
const Origin = "belay event log v1"

// Classes of errors, for errors.Is.
var (
	// ErrCheckpoint: the text is no checkpoint, or no signature of the key is on it.
	ErrCheckpoint = errors.New("checkpoint not valid")
	// ErrProof: the proof does not prove that the event is in the log.
	ErrProof = errors.New("proof not valid")
	// ErrCompacted: the contents of the event were removed.
	ErrCompacted = errors.New("the event was compacted")
	// ErrLog: the log could not be read.
	ErrLog = errors.New("the log could not be read")
)

// Key signs checkpoints. It is safe for concurrent use.
type Key struct {
	signer   note.Signer
	verifier string
}

// NewKey makes the key of a seed of 32 bytes. The key's name holds the start of
// the public key, so that the checkpoints of two logs cannot be confused.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%w: a seed has %d bytes", ErrCheckpoint, ed25519.SeedSize)
	}
	pub := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	vkey, err := note.NewEd25519VerifierKey("belay-"+hex.EncodeToString(pub[:4]), pub)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	parts := strings.SplitN(vkey, "+", 3) // name, hash, key
	const ed25519Key = 1                  // golang.org/x/mod/sumdb/note: algorithm byte
	secret := base64.StdEncoding.EncodeToString(append([]byte{ed25519Key}, seed...))
	signer, err := note.NewSigner("PRIVATE+KEY+" + parts[0] + "+" + parts[1] + "+" + secret)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return &Key{signer: signer, verifier: vkey}, nil
}

// Verifier returns the public half, in the form of a note's verifier key.
func (k *Key) Verifier() string { return k.verifier }

// StoreID names the log, and with it the state directory, in the orders of reviewers. It
// is made from the verifier: the same as long as the key is, and no secret.
func (k *Key) StoreID() string {
	sum := sha256.Sum256([]byte("belay store id v1\x00" + k.verifier))
	return hex.EncodeToString(sum[:16])
}

// Checkpoint says what the first Size events of a log were at a time.
type Checkpoint struct {
	Size int64
	Root tlog.Hash
	Time time.Time // whole seconds, UTC
}

// Sign returns the checkpoint as a signed note (golang.org/x/mod/sumdb/note; the
// lines are those of a tlog checkpoint with the time as an extension).
func (k *Key) Sign(c Checkpoint) ([]byte, error) {
	text := fmt.Sprintf("%s\n%d\n%s\ntime %s\n", Origin, c.Size, c.Root, c.Time.UTC().Format(time.RFC3339))
	signed, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return signed, nil
}

// Open checks the signature of a checkpoint. The error is ErrCheckpoint.
func Open(signed []byte, verifier string) (Checkpoint, error) {
	lines, err := open(signed, verifier, Origin, 4)
	if err != nil {
		return Checkpoint{}, err
	}
	return parseCheckpoint(lines)
}

// CheckVerifier refuses a text that is no verifier key. The error is ErrCheckpoint.
func CheckVerifier(key string) error {
	if _, err := note.NewVerifier(key); err != nil {
		return fmt.Errorf("%w: verifier key: %w", ErrCheckpoint, err)
	}
	return nil
}

// Split cuts a file of checkpoints, one after the other, into its notes. What
// stands before the first is the first's: nothing is left out.
func Split(file []byte) [][]byte {
	var out [][]byte
	for line := range bytes.Lines(file) {
		if len(out) == 0 || string(bytes.TrimSuffix(line, []byte("\n"))) == Origin {
			if len(out) == 0 && len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], line...)
	}
	for i, n := range out {
		out[i] = append(bytes.TrimRight(n, "\n"), '\n')
	}
	return out
}
