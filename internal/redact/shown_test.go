package redact

import (
	"strings"
	"testing"
)

// TestShown: what a command prints for a variable, and passwords by their place among words; and what looks like it.
func TestShown(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{
		"$ printenv DEEPGRAM_API_KEY\n⟦54d505e3074bb5d4b2ba855e9b8ca5b5⟧\n$ ls", "$ echo $API_TOKEN\n⟦Zk3vQ9xWb7TnRf2LpYc8⟧",
		"$ echo \"${DB_PASSWORD}\"\n⟦Zk3vQ9xWb7TnRf2LpYc8⟧\n", "mc alias set prod https://s3.a.example minioadmin ⟦eJN4d6uMOh975VU3lY9A⟧",
		"createUser monitor SHA \"⟦M3L2wQ8n0d0AZJ2hZI⟧\" AES ⟦Qz7Wb7TnRf2LpYc8⟧",
		"the app password for mail is ⟦tqzk wplx rmvd hsbn⟧.", "guest pw is ⟦3GoqFz2LHLVP2x⟧, do not share",
		"auth.password = ⟦XC&4JwcUalla0g737AUn⟧\n", "login with ⟦hawk.DtWHgilCEn4dL08wDTZl.eeOqoR3caK3SAC5tqivx⟧ ok",
	} {
		secrets := strings.Split(text, "⟦")[1:]
		out, _ := r.Text(strings.NewReplacer("⟦", "", "⟧", "").Replace(text))
		for _, secret := range secrets {
			if secret, _, _ = strings.Cut(secret, "⟧"); strings.Contains(out, secret) {
				t.Errorf("%q is left: %q", secret, out)
			}
		}
	}
	for _, text := range []string{
		"$ printenv HOME\n/home/dev\n", "$ printenv API_KEY\n$ echo done\n", "$ echo $PATH\n/usr/bin:/bin\n",
		"echo $TOKEN\nthe token is unset",
		"alias set ll 'ls -l'", "git alias set co checkout branch name", "createUser(name, SHA256)", "createUser monitor SHA",
		"the app password page has four words in each line", "see pw hash above", "a = 1 & b = 2",
		"https://a.example/?q=cats&dogs=1",
	} {
		if out, _ := r.Text(text); out != text {
			t.Errorf("changed: %q to %q", text, out)
		}
	}
}
