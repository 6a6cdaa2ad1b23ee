package belay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/readfile"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/tiers"
)

// evidenceSuffix is what stands after a file's name in the names of its evidence:
// FILE.sigstore.json, FILE.2.sigstore.json, FILE.sig, FILE.manifest.json.
var evidenceSuffix = regexp.MustCompile(`\A(?:\.[0-9]{1,3})?\.(sigstore\.json|sig|manifest\.json)\z`)

var evidenceKinds = map[string]tiers.EvidenceKind{
	"sigstore.json": tiers.EvidenceBundle, "sig": tiers.EvidenceSignature, "manifest.json": tiers.EvidenceManifest,
}

// ReadEvidence reads the evidence that lies beside a module file: each piece once,
// so that what is kept is what was looked at. No evidence is no error.
func ReadEvidence(path string) ([]tiers.Evidence, error) { return readEvidence(path) }

func readEvidence(path string) ([]tiers.Evidence, error) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []tiers.Evidence
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), base)
		if !ok {
			continue
		}
		kind := evidenceSuffix.FindStringSubmatch(suffix)
		if kind == nil {
			continue
		}
		if len(out) > tiers.MaxEvidenceList {
			break // one more than are looked at, so that somebody says so
		}
		data, err := readfile.Start(filepath.Join(dir, e.Name()), tiers.MaxEvidence+1) // one byte more than is accepted, which then says so
		if err != nil {
			return nil, err
		}
		out = append(out, tiers.Evidence{Kind: evidenceKinds[kind[1]], Name: e.Name(), Data: data})
	}
	return out, nil
}

// keepEvidence writes evidence beside the blob.
func keepEvidence(dir, digest string, evidence []tiers.Evidence) error {
	if _, err := writeEvidence(blobPath(dir, digest), evidence, 0o600); err != nil {
		return stateError("evidence", err)
	}
	return nil
}

// WriteEvidence writes evidence beside a module file and returns the names (without
// directories) of the files that hold it. What is there stays: a second pull or
// installation can bring the signature that the first lacked.
func WriteEvidence(path string, evidence []tiers.Evidence) ([]string, error) {
	return writeEvidence(path, evidence, 0o644)
}

func writeEvidence(path string, evidence []tiers.Evidence, mode fs.FileMode) ([]string, error) {
	have, err := readEvidence(path)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range evidence {
		if len(e.Data) > tiers.MaxEvidence {
			continue
		}
		same := func(h tiers.Evidence) bool { return h.Kind == e.Kind && bytes.Equal(h.Data, e.Data) }
		if i := slices.IndexFunc(have, same); i >= 0 {
			names = append(names, have[i].Name)
			continue
		}
		if len(have) >= tiers.MaxEvidenceList {
			return names, fmt.Errorf("more than %d pieces of evidence for %s", tiers.MaxEvidenceList, filepath.Base(path))
		}
		name := freeName(path, e.Kind, have)
		if err := statedir.Create(name, e.Data, mode); errors.Is(err, fs.ErrExist) {
			return writeEvidence(path, evidence, mode) // another process took the name: what it wrote is there now
		} else if err != nil {
			return names, err
		}
		names = append(names, filepath.Base(name))
		have = append(have, tiers.Evidence{Kind: e.Kind, Name: filepath.Base(name), Data: e.Data})
	}
	return names, nil
}

func freeName(path string, kind tiers.EvidenceKind, have []tiers.Evidence) string {
	suffix := ""
	for s, k := range evidenceKinds {
		if k == kind {
			suffix = s
		}
	}
	name := path + "." + suffix
	for n := 1; slices.ContainsFunc(have, func(h tiers.Evidence) bool { return h.Name == filepath.Base(name) }); n++ {
		name = fmt.Sprintf("%s.%d.%s", path, n, suffix)
	}
	return name
}

func blobPath(dir, digest string) string {
	return filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

func digestOf(file []byte) string {
	sum := sha256.Sum256(file)
	return "sha256:" + hex.EncodeToString(sum[:])
}
