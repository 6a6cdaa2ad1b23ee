package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/tiers"
)

// evidenceSuffixes is what stands after a file's name in the names of its evidence:
// FILE.sigstore.json, FILE.2.sigstore.json, FILE.sig, FILE.manifest.json.
var evidenceSuffixes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A(?:\.[0-9]{1,3})?\.(sigstore\.json|sig|manifest\.json)\z`)
})

var evidenceKinds = map[string]tiers.EvidenceKind{
	"sigstore.json": tiers.EvidenceBundle, "sig": tiers.EvidenceSignature, "manifest.json": tiers.EvidenceManifest,
}

// ReadEvidence reads the evidence that lies beside a module file: each piece once, so
// that the stored evidence is the verified one. No evidence is no error.
func ReadEvidence(path string) ([]tiers.Evidence, error) {
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
		kind := evidenceSuffixes().FindStringSubmatch(suffix)
		if kind == nil {
			continue
		}
		if len(out) > tiers.MaxEvidenceList {
			break // one more than are looked at, so that the policy says so
		}
		// one byte more than is accepted, which then says so
		data, err := files.Start(filepath.Join(dir, e.Name()), tiers.MaxEvidence+1)
		if err != nil {
			return nil, err
		}
		out = append(out, tiers.Evidence{Kind: evidenceKinds[kind[1]], Name: e.Name(), Data: data})
	}
	return out, nil
}

// StoreEvidence writes evidence beside the module of that digest in a state directory.
// The error is statedir.ErrUnusable.
func StoreEvidence(dir, digest string, evidence []tiers.Evidence) error {
	if _, err := writeEvidence(statedir.Blob(dir, digest), evidence, 0o600); err != nil {
		return statedir.Unusable("evidence", err)
	}
	return nil
}

// WriteEvidence writes evidence beside a module file and returns the names (without
// directories) of the files that hold it. Existing evidence stays: a second
// pull or installation can bring the signature that the first lacked.
func WriteEvidence(path string, evidence []tiers.Evidence) ([]string, error) {
	return writeEvidence(path, evidence, 0o644)
}

func writeEvidence(path string, evidence []tiers.Evidence, mode fs.FileMode) ([]string, error) {
	have, err := ReadEvidence(path)
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
			return writeEvidence(path, evidence, mode) // another process took the name: its evidence is there now
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
