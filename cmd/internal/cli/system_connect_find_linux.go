package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/files"
)

const (
	maxAccounts  = 16 << 20 // bytes of /etc/passwd
	firstAccount = 1000     // below it are accounts that no person uses, and root
)

// homeSettings are where runtimes keep one person's settings, below the home directory.
func homeSettings() map[string]string {
	return map[string]string{"claude-code": ".claude", "codex": ".codex", "cursor": ".cursor", "gemini-cli": ".gemini",
		"openclaw": ".openclaw", "opencode": ".config/opencode"}
}

// installedRuntimes returns the runtimes of the tree, each with what shows that it is there: a client in a directory of
// programs, or what it left in the home directory of a user. It only looks whether they exist.
func installedRuntimes(root string) map[string]string {
	out := map[string]string{}
	homes := homesOf(root)
	for _, name := range connect.Runtimes() {
		client := clients()[name]
		var places []string
		if root == "" {
			if path, err := exec.LookPath(client); err == nil {
				places = append(places, path)
			}
		}
		for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/opt/" + name} {
			places = append(places, filepath.Join(root, dir, client))
		}
		for _, home := range homes {
			places = append(places, filepath.Join(home, ".local/bin", client), filepath.Join(home, homeSettings()[name]))
		}
		for _, path := range places {
			if _, err := os.Lstat(path); err == nil {
				out[name] = path
				break
			}
		}
	}
	return out
}

// homesOf returns the home directories of the users of the tree.
func homesOf(root string) (out []string) {
	src, err := files.Read(filepath.Join(root, "/etc/passwd"), maxAccounts)
	if err != nil {
		return nil // then only programs tell
	}
	for line := range bytes.Lines(src) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if len(f) != 7 || !filepath.IsAbs(f[5]) {
			continue
		}
		if uid, err := strconv.ParseUint(f[2], 10, 32); err == nil && (uid == 0 || uid >= firstAccount) {
			out = append(out, filepath.Join(root, f[5]))
		}
	}
	return out
}
