package paths

import (
	"bufio"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestNormalize(t *testing.T) {
	const cwd, home = "/srv/dir", "/home/dev"
	for _, tt := range []struct {
		in, path, key string
		notes         []string
	}{
		{"a.txt", "/srv/dir/a.txt", "/srv/dir/a.txt", nil},
		{"./x//y/../Z", "/srv/dir/x/Z", "/srv/dir/x/z", nil},
		{"/etc/../etc/Shadow", "/etc/Shadow", "/etc/shadow", nil},
		{"../../../../x", "/x", "/x", nil},
		{"~", "/home/dev", "/home/dev", nil},
		{"~/.aws", "/home/dev/.aws", "/home/dev/.aws", nil},
		{"~root/.ssh", "/root/.ssh", "/root/.ssh", []string{TildeUser}},
		{"~bob/x", "/home/bob/x", "/home/bob/x", []string{TildeUser}},
		{"$HOME/x", "/home/dev/x", "/home/dev/x", []string{Variable}},
		{"${HOME}/x", "/home/dev/x", "/home/dev/x", []string{Variable}},
		{"$HOMEX/x", "/srv/dir/$HOMEX/x", "/srv/dir/$homex/x", []string{Variable}},
		{"file:///etc/passwd?x#y", "/etc/passwd", "/etc/passwd", []string{FileURL}},
		{"FILE://host/etc/pass%77d", "/etc/passwd", "/etc/passwd", []string{FileURL, Percent}},
		{"/etc/sh%61dow", "/etc/sh%61dow", "/etc/shadow", []string{Percent}},
		{"/etc/sh%2561dow", "/etc/sh%2561dow", "/etc/shadow", []string{Percent}},
		{"/etc/sha\u00addow", "/etc/sha\u00addow", "/etc/shadow", []string{Invisible}},
		{"/etc/sha\u200bdow", "/etc/sha\u200bdow", "/etc/shadow", []string{Invisible}},
		{"\uff0e\uff45nv", "/srv/dir/\uff0e\uff45nv", "/srv/dir/.env", []string{Unicode}},
		{"a/.env\x00.txt", "/srv/dir/a/.env\x00.txt", "/srv/dir/a/.env", []string{NUL}},
		{"C:\\Users\\dev\\.ENV.", "/srv/dir/C:\\Users\\dev\\.ENV.", "/users/dev/.env", []string{Backslash, Drive, Dot}},
		{`\\?\C:\x\y`, `/srv/dir/\\?\C:\x\y`, "/x/y", []string{Backslash, Drive}},
		{"a/site.pem::$DATA", "/srv/dir/a/site.pem::$DATA", "/srv/dir/a/site.pem", []string{Stream, Variable}},
		{" /etc/shadow ", "/srv/dir/ /etc/shadow ", "/etc/shadow", []string{Blank}},
		{"/proc/7/root/etc/shadow", "/proc/7/root/etc/shadow", "/etc/shadow", []string{Proc}},
		{"/proc/self/root/../etc/shadow", "/proc/self/etc/shadow", "/etc/shadow", []string{Proc}},
		{"/proc/self/task/9/root/x", "/proc/self/task/9/root/x", "/x", []string{Proc}},
		{"/proc/self/cwd/.env", "/proc/self/cwd/.env", "/srv/dir/.env", []string{Proc}},
		{"/dev/fd/../environ", "/dev/environ", "/proc/self/environ", []string{Proc}},
		{"/private/etc/passwd", "/private/etc/passwd", "/etc/passwd", nil},
	} {
		n := Normalize(tt.in, cwd, home)
		notes := slices.Clone(n.Notes)
		slices.Sort(notes)
		want := slices.Clone(tt.notes)
		slices.Sort(want)
		if n.Path != tt.path || n.Key != tt.key || !slices.Equal(notes, want) || !n.Absolute ||
			!slices.Contains(n.Keys, n.Key) {
			t.Errorf("%q:\ngot  %q %q %v\nwant %q %q %v", tt.in, n.Path, n.Key, n.Notes, tt.path, tt.key, tt.notes)
		}
	}
	if n := Normalize("~/x", "", ""); n.Path != "~/x" || n.Absolute {
		t.Errorf("without a home directory: %+v", n)
	}
	if n := Normalize("a%2fb", "", ""); !slices.Equal(n.Keys, []string{"a/b", "a%2fb"}) {
		t.Errorf("both readings: %q", n.Keys)
	}
}

// protected is a small rule over keys, as a guard would write it: the corpus
// shows that rules on keys need not know any spelling.
func protected(key string) bool {
	elems := strings.Split(strings.Trim(key, "/"), "/")
	base := elems[len(elems)-1]
	dirs := "/" + strings.Join(elems[:len(elems)-1], "/") + "/"
	for _, d := range elems[:len(elems)-1] {
		if d == "node_modules" || d == "test" || d == "fixtures" {
			return false
		}
	}
	if strings.Contains(base, ".test.") || base == "package-lock.json" {
		return false
	}
	under := "/" + strings.Join(elems, "/") + "/"
	for _, d := range []string{"/.aws/", "/.gnupg/", "/.password-store/", "/.config/gcloud/", "/etc/sudoers.d/",
		"/.claude/credentials/", "/.openclaw/credentials/", "/.clawdbot/credentials/"} {
		if strings.Contains(under, d) {
			return true
		}
	}
	switch base {
	case ".boto", "credentials.json", "service-account.json", "kubeconfig", "auth-profiles.json", "oauth_creds.json",
		".credentials.json",
		".profile", ".bashrc", ".zshrc", ".zprofile", ".bash_profile", "environ":
		return true
	}
	if dirs == "/etc/" {
		for _, n := range []string{"passwd", "shadow", "gshadow", "sudoers"} {
			if rest, ok := strings.CutPrefix(base, n); ok && (rest == "" || rest == "-" || rest == ".bak") {
				return true
			}
		}
	}
	for _, n := range []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
		if strings.HasPrefix(base, n) && !strings.HasSuffix(base, ".pub") {
			return true
		}
	}
	if base == ".env" || strings.HasPrefix(base, ".env.") && !strings.HasSuffix(base, ".example") &&
		!strings.HasSuffix(base, ".sample") && !strings.HasSuffix(base, ".template") && !strings.HasSuffix(base, ".md") {
		return true
	}
	return slices.Contains([]string{".pem", ".key", ".p12", ".pfx"}, path.Ext(base))
}

func TestCorpus(t *testing.T) {
	f, err := os.Open("testdata/paths.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		var c struct {
			ID    string `json:"id"`
			Path  string `json:"path"`
			Label string `json:"label"`
		}
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got := "allow"
		if slices.ContainsFunc(Normalize(c.Path, "/ci", "/home/ci").Keys, protected) {
			got = "block"
		}
		if got != c.Label {
			t.Errorf("%s %q: %s, want %s; keys %q", c.ID, c.Path, got, c.Label, Normalize(c.Path, "/ci", "/home/ci").Keys)
		}
	}
	if n < 70 {
		t.Errorf("only %d cases", n)
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"a/../b", "~/x", "file:///%2e%2e/x", "C:\\x", "/proc/self/root/../x", "\u200b", "%", "%zz",
		"\xff", "\x00", "..", "", "~", "$HOME", `\\?\UNC\a\b`, "x::$DATA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		n := Normalize(p, "/srv", "/home/u")
		if len(n.Keys) == 0 || n.Keys[0] != n.Key || len(n.Keys) > 5 {
			t.Fatalf("keys %q", n.Keys)
		}
		if n.Absolute && (n.Path[0] != '/' || n.Path != path.Clean(n.Path)) {
			t.Fatalf("path %q", n.Path)
		}
		if strings.Contains("/"+n.Key+"/", "/../") && strings.HasPrefix(n.Key, "/") {
			t.Fatalf("key %q", n.Key)
		}
	})
}
