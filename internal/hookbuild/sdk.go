package hookbuild

import (
	_ "embed"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// sdkArchive holds hooks-sdk/{c,go,rust} as it is in this repository, so that a
// new hook brings its SDK and builds without a network. It is an archive because
// a go.mod, which the Go SDK has, would cut a directory off from go:embed.
// TestSDKArchive writes it (-update) and keeps it equal to the directories.
//
//go:embed sdk.txtar
var sdkArchive []byte

// sdk returns the files of one language's SDK by their names below its directory.
func sdk(lang string) map[string][]byte {
	out := map[string][]byte{}
	for _, f := range txtar.Parse(sdkArchive).Files {
		if name, ok := strings.CutPrefix(f.Name, lang+"/"); ok {
			out[name] = f.Data
		}
	}
	return out
}
