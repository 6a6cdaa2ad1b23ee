package hookbuild

import (
	_ "embed"
	"io/fs"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	hookssdk "github.com/belay-hooks/belay/hooks-sdk"
)

// goArchive holds hooks-sdk/go as it is in this repository. It is an archive because
// a go.mod, which the Go SDK has, cuts a directory off from go:embed.
// TestSDKArchive writes it (-update) and keeps it equal to the directory.
//
//go:embed sdk.txtar
var goArchive []byte

// sdk returns the files of one language's SDK by their names below its directory; none for
// a language that has no SDK. The error is ErrSource.
func sdk(lang string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, f := range txtar.Parse(goArchive).Files {
		if name, ok := strings.CutPrefix(f.Name, lang+"/"); ok {
			out[name] = f.Data
		}
	}
	files := hookssdk.Sources()
	if _, err := fs.Stat(files, lang); err != nil {
		return out, nil
	}
	err := fs.WalkDir(files, lang, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[strings.TrimPrefix(path, lang+"/")], err = files.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, failure(ErrSource, err, "the SDK is broken: %v", err)
	}
	return out, nil
}
