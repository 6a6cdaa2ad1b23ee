package redact

import "strings"

// filledIn reports a value that another program puts the secret in place of: %(name)s, #{name}, __NAME__, @@NAME@@,
// @Microsoft.KeyVault(…), ENC[…], @file.txt, *alias, env:NAME, or a link into a store of secrets.
func filledIn(v string) bool {
	for _, m := range [...][2]string{{"%(", ")s"}, {"#{", "}"}, {"__", "__"}, {"@@", "@@"}, {"@Microsoft.KeyVault(", ""},
		{"ENC[", "]"}} {
		if len(v) > len(m[0])+len(m[1]) && strings.HasPrefix(v, m[0]) && strings.HasSuffix(v, m[1]) {
			return true
		}
	}
	if file, ok := strings.CutPrefix(v, "@"); ok {
		dot := strings.LastIndexByte(file, '.')
		return dot > 0 && len(file)-dot <= 5 && strings.Trim(lower(file), "abcdefghijklmnopqrstuvwxyz0123456789/._-") == "" && !randomish(file)
	}
	if alias, ok := strings.CutPrefix(v, "*"); ok && strings.Contains(alias, "_") &&
		strings.Trim(alias, "abcdefghijklmnopqrstuvwxyz_") == "" {
		return true // of YAML
	}
	if store, at, ok := strings.Cut(v, ":"); ok && storeOfSecrets(store) && onlyNames(strings.NewReplacer("/", ".", ":", ".",
		"#", ".").Replace(at)) && !scrambled(at) {
		return true
	}
	scheme, rest, ok := strings.Cut(v, "://")
	if !ok || strings.ContainsAny(rest, "@=") || scrambled(rest) {
		return false
	}
	switch scheme {
	case "http", "https", "ws", "wss":
		return false // a link can carry the secret
	}
	return scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz-+") == ""
}

// scrambled reports a text whose characters change between lower case, upper case, digits and others as often as those
// of a generator do. Words of a language or a program keep to one of them for several characters.
func scrambled(v string) bool {
	if len(v) < 20 {
		return false
	}
	changes, before := 0, class(v[0])
	for i := 1; i < len(v); i++ {
		if c := class(v[i]); c != before {
			changes, before = changes+1, c
		}
	}
	return mixed(v) && changes*20 >= len(v)*9
}

// class is 0 for lower case, 1 for upper case, 2 for digits, 3 for all others.
func class(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 0
	case c >= 'A' && c <= 'Z':
		return 1
	case c >= '0' && c <= '9':
		return 2
	}
	return 3
}

// storeOfSecrets reports the prefix of a reference: env:NAME, consul:app/db.
func storeOfSecrets(name string) bool {
	switch name {
	case "env", "keyring", "keychain", "consul", "conjur", "vault", "ssm", "secretsmanager", "aws", "gcp", "azure",
		"azurekeyvault", "akv", "gsm", "doppler", "infisical", "pass", "sops", "secret":
		return true
	}
	return false
}

// sealed reports a value of a SealedSecret at s[from:]: it is encrypted for the cluster that opens it.
func sealed(s string, from int, v string) bool {
	const before = 64 << 10 // a SealedSecret has few and short members
	return len(v) >= 64 && strings.HasPrefix(v, "Ag") && strings.Contains(s[max(0, from-before):from], "encryptedData")
}
