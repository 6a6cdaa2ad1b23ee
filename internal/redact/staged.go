package redact

import "strings"

// unstaged takes the last word off a name when it says which one of several values this is and nothing about its kind:
// API_KEY_PROD, db.password.old, TOKEN_2.
func unstaged(name string) (string, bool) {
	i := strings.LastIndexAny(name[max(0, len(name)-12):], "_-.")
	if i < 0 {
		head := strings.TrimRight(name, "0123456789") // password1
		return head, len(name)-len(head) == 1 && !strings.HasSuffix(lower(head), "auth")
	}
	i += max(0, len(name)-12)
	head, last := name[:i], name[i+1:]
	if strings.Trim(last, "0123456789") == "" && len(last) <= 2 {
		return head, last != ""
	}
	switch lower(last) {
	case "prod", "production", "staging", "stage", "dev", "development", "live", "main", "backup", "old", "new", "current",
		"previous", "secondary", "private", "value", "val", "raw", "b64", "base64", "plain", "plaintext", "str", "env",
		"local", "remote", "eu", "us", "v1", "v2", "v3", "test", "qa", "uat", "ci", "cd", "rw", "ro", "write":
		return head, true
	}
	return "", false
}
