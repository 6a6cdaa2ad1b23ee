package redact

import (
	"slices"
	"strings"
)

// findNamed looks for values whose name says that they are secret: KEY=value,
// key: value, "key": "value", key = 'value', headers, --key value, and a few
// words of configuration languages.
//
// Values may overlap, since a value that is no secret can hold a name with one
// that is. A text made of nothing but names would cost the square of its length:
// when the values looked at add up to many times the text, the rest of it is
// redacted completely instead of being read.
//
// It is told which separators stand behind what may be a telling name.
func (d *detector) findNamed(s string, names []int32, add func(kind string, from, to int)) {
	work := 8*len(s) + 64<<10 // bytes of values
	next := askEvery
	login := -maxEntry - 1 // the last blank behind what may be the word login or machine
	if strings.IndexByte(s, dottedI) >= 0 {
		login = len(s) // they may be written with letters that are not of ASCII
	}
	for _, p := range names {
		i := int(p)
		if s[i] == ' ' {
			if logsInBefore(s, i) {
				login = max(login, i)
			}
			if !endsBareName(s[:i]) && !hasParts(s[:i]) {
				continue
			}
		} else if !apart(s, i) {
			continue
		}
		if i >= next {
			if next = i + askEvery; d.halt.stopped() {
				return
			}
		}
		name, from := nameBefore(s, i)
		flag := from >= 2 && s[from-1] == '-' && (s[from-2] == '-' || s[from-2] == ' ') && (len(name) > 1 || name == "b")
		if name == "" || s[i] == ' ' && !flag && !valueFollows(name) {
			continue
		}
		column := joined(name)
		kind, str := nameKind(name)
		if str == none && from > 0 && (s[from-1] == '?' || s[from-1] == '&') {
			kind, str = parameterKind(name)
		}
		if flag && (name == "body" || name == "value" || name == "b") && setsSecret(s[max(0, from-160):from]) {
			kind, str = "secret", strong
		}
		if s[i] == ':' && from > 0 && s[from-1] == ':' {
			continue // a part of a longer name: arn:aws:…:secret:x
		}
		if s[i] == '(' {
			switch {
			case str != none:
				d.arguments(s, kind, str, name, i, false, add)
			case logsIn(name):
				d.arguments(s, "credential", weak, name, i, true, add)
			default:
				client(s, name, i, add)
			}
			continue
		}
		tag := s[i] == '>' && str == none
		if tag {
			if name := element(s, i); name != "" {
				kind, str = nameKind(name)
			}
			tag = str != none
		}
		if s[i] == ',' || s[i] == '|' || s[i] == ' ' && !flag && column {
			str = min(str, weak) // lists and columns have names in them more often than secrets
		}
		if s[i] == ' ' && len(name) == 2 && strings.EqualFold(name, "by") {
			kind, str = "password", strong
		}
		if s[i] == '>' && name == "string" && str == none {
			kind, str = nameKind(plistKey(s, from))
		}
		if str == none && (len(name) == 5 && strings.EqualFold(name, "value") || name == "default") {
			if name = pairedName(s, from, name); name == "" {
				continue
			}
			kind, str = nameKind(name)
		}
		if len(d.names) > 0 && d.names[flat(name)] {
			kind, str = "named", strong
		}
		if str == none {
			continue
		}
		at := i + 1
		if s[i] == ' ' {
			// "--password value", "PASSWORD 'value'", "login x password y", "_authToken value"
			if !flag && !column && !lineOfConfig(name) && !netrcOrSQL(s, from, at, login >= from-maxEntry) &&
				!ipsec(s, name, at) {
				continue
			}
		}
		if s[i] == '>' && !tag && !(i > 0 && s[i-1] == '=') && !strings.Contains(s[from:i], "\"") &&
			!(from > 0 && (s[from-1] == '<' || s[from-1] == ':' && element(s, i) == name)) {
			continue
		}
		if several(s, from, i, func(vFrom, vTo int, quoted bool) {
			if quoted { // lists have names in them more often than secrets
				d.value(s, kind, min(str, weak), name, vFrom, vTo, quoted, add)
			} else {
				d.value(s, kind, str, name, vFrom, vTo, quoted, add)
			}
		}) {
			continue
		}
		if name == "rootpw" && strings.HasPrefix(s[at:], "--plaintext ") { // of Kickstart
			at += len("--plaintext ")
		}
		vFrom, vTo, quoted := valueAt(s, at)
		if s[i] == ',' && !quoted {
			continue
		}
		if s[i] == ' ' && !flag && column && (vTo-vFrom < 16 || !randomish(s[vFrom:vTo])) {
			continue
		}
		// over the blanks between cookies
		for kind == "cookie" && !quoted && vTo < len(s) && !valueEnd[s[vTo]] && vTo-vFrom <= work {
			vTo++
		}
		if work -= vTo - vFrom; work < 0 {
			add("unread", at, len(s))
			return
		}
		d.value(s, kind, str, name, vFrom, vTo, quoted, add)
	}
}

// pairedName returns the name that the value at s[at:] belongs to in a list of
// pairs: name: X, value: Y.
func pairedName(s string, at int, member string) string {
	head := s[max(0, at-120):at]
	if member == "default" { // variable "db_password" {
		const variable = "variable \""
		i := strings.LastIndex(head, variable)
		if i < 0 || strings.Contains(head[i:], "}") {
			return ""
		}
		name, _, _ := strings.Cut(head[i+len(variable):], "\"")
		return name
	}
	if line := strings.LastIndexByte(head, '\n'); line >= 0 { // of a pair, the name stands at most one line above
		head = head[strings.LastIndexByte(head[:line], '\n')+1:]
	}
	i := max(strings.LastIndex(head, "name"), strings.LastIndex(head, "Name"), strings.LastIndex(head, "key"),
		strings.LastIndex(head, "Key"))
	if attr := max(strings.LastIndex(head, "key=\""), strings.LastIndex(head, "name=\"")); attr >= 0 {
		i = attr // the word may stand in the name, too: key="ApiKey"
	}
	if i < 0 {
		return ""
	}
	rest := strings.TrimLeft(head[i:], "nameNkyKEY")
	rest = strings.TrimLeft(rest, " \t=:\"'\\")
	end := 0
	for end < len(rest) && inClass(rest[end], "w_-.") {
		end++
	}
	return rest[:end]
}

// value checks one named value and adds what of it is secret.
func (d *detector) value(s, kind string, str strength, name string, from, to int, quoted bool,
	add func(string, int, int)) {
	v := s[from:to]
	if kind == "named" { // the operator has said so: it need not look like a secret
		if from < to { // an empty value at the end of a view has no place
			add(kind, from, to)
		}
		return
	}
	if kind == "credential" || kind == "token" {
		if rest, ok := authScheme(v); ok {
			from += len(v) - len(rest)
			v = rest
			if credible(v, weak, true) || len(v) >= 16 && credible(v, strong, true) {
				add(kind, from, to)
			}
			parameters(s, kind, from, add)
			return
		}
		if scheme := strings.Trim(lower(v), "abcdefghijklmnopqrstuvwxyz-") == "" &&
			strings.HasSuffix(lower(name), "authorization"); scheme && !quoted && to < len(s) && s[to] == ' ' {
			parameters(s, kind, to, add)
			from, to, quoted = valueAt(s, to) // of a scheme that is not listed
			if credible(s[from:to], weak, quoted) {
				add(kind, from, to)
			}
			return
		}
	}
	if kind == "mnemonic" || kind == phraseKind {
		if n := mnemonic(s[from:min(len(s), from+256)]); n > 0 {
			add("mnemonic", from, from+n)
		}
		if kind == phraseKind {
			return
		}
	}
	if openAs(kind, v) || sealed(s, from, v) {
		return
	}
	if kind == "cookie" {
		for _, c := range strings.Split(v, ";") { // name=value; name=value
			n, val, ok := strings.Cut(c, "=")
			val, _, _ = strings.Cut(val, " ")
			if ok && len(val) >= 16 && credible(val, weak, true) {
				at := from + strings.Index(v, c) + len(n) + 1
				add("cookie", at, at+len(val))
			}
		}
		return
	}
	if quoted && s[from-1] == '`' && strings.IndexByte(v, ' ') > 0 {
		return // a command that prints the secret
	}
	if credible(v, str, quoted) && !(str == strong && !quoted && codeWord(s, from, to, name)) {
		add(kind, from, to)
	}
}

// authScheme takes the scheme off the value of an authorization header.
func authScheme(v string) (string, bool) {
	for _, scheme := range []string{"bearer ", "basic ", "token token=", "token ", "apikey ", "digest ", "negotiate ",
		"bot ", "ssws ", "geniekey ", "key ", "sso-key ", "apitoken ", "oauth ", "jwt ", "splunk "} {
		if len(v) > len(scheme) && strings.EqualFold(v[:len(scheme)], scheme) {
			return strings.TrimLeft(v[len(scheme):], " \""), true
		}
	}
	return v, false
}

// codeWord reports an unquoted value that reads like code or prose: a type, a
// variable, a word of a sentence.
func codeWord(s string, from, to int, name string) bool {
	v := s[from:to]
	plain := true
	for i := 0; i < len(v); i++ {
		if !inClass(v[i], "w_.") {
			plain = false
			break
		}
	}
	if !plain {
		return false
	}
	if name == "PASS" { // of a test's report
		for _, w := range []string{"Test", "Benchmark", "Example", "Fuzz"} {
			if strings.HasPrefix(v, w) {
				return true
			}
		}
	}
	hasDigit := strings.ContainsAny(v, "0123456789")
	if len(v) >= 10 && !identifier(v) {
		return false
	}
	if !hasDigit && strings.ToUpper(name) != name {
		return true
	}
	return !hasDigit && len(v) < 8
}

// nameBefore returns the name that ends before s[i], with quotes and blanks
// between skipped, and where it begins.
func nameBefore(s string, i int) (string, int) {
	end := i
	if i > 0 && !nameByte[s[i-1]] && s[i] != ' ' {
		end = nameEnd(s, i)
	}
	from := end
	for from > 0 && end-from < 80 && nameByte[s[from-1]] {
		from--
	}
	for from < end && (s[from] == '-' || s[from] == '.') {
		from++
	}
	return s[from:end], from
}

// nameEnd returns where the name ends that stands before the separator s[i], which is no blank.
func nameEnd(s string, i int) int {
	end := i
	if s[i] == '=' && i > 0 && s[i-1] == '!' {
		end--
	}
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '\t') && i-end < 16 {
		end--
	}
	for end > 0 && strings.IndexByte("\"'`\\]=", s[end-1]) >= 0 && i-end < 20 {
		end--
	}
	return end
}

// dottedI is the first byte of U+0130, the one letter beyond ASCII whose lower case is a letter of the words login
// and machine.
const dottedI = 0xc4

// hasParts reports whether a - or _ stands behind the last blank.
func hasParts(s string) bool {
	for i := len(s) - 1; i >= 0 && s[i] != ' '; i-- {
		if s[i] == '-' || s[i] == '_' {
			return true
		}
	}
	return false
}

// valueAt returns the value that begins at or after i, without its quotes.
func valueAt(s string, i int) (from, to int, quoted bool) {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '=' || s[i] == '>') {
		i++
	}
	if strings.HasPrefix(s[i:], "!!str ") { // a YAML tag
		i += len("!!str ")
	}
	for i < len(s) && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\'' || s[i+1] == '\\') {
		i++
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'' || s[i] == '`') {
		return i + 1, quotedEnd(s, i), true
	}
	from, to = i, i
	equals, open := false, false
	_, scheme := authScheme(s[i:min(len(s), i+16)])
	blanks := 0
	for to < len(s) && !valueEnd[s[to]] {
		if s[to] == ' ' || s[to] == '\t' {
			if !scheme || blanks > 0 {
				break
			}
			blanks++
		}
		if s[to] == ';' && !equals {
			break
		}
		if s[to] == '&' && !partOfValue(s, from, to) || s[to] == ')' && !open {
			break
		}
		equals, open = equals || s[to] == '=', open || s[to] == '('
		to++
	}
	for to > from && strings.IndexByte(".;:", s[to-1]) >= 0 {
		to--
	}
	return from, to, false
}

// partOfValue reports that the & at s[at] belongs to the value that begins at s[from]: it stands in a line of its own
// name, and no parameter, entity or command follows.
func partOfValue(s string, from, at int) bool {
	to := at + 1
	for to < len(s) && (word[s[to]] || s[to] == '_' || s[to] == '-') {
		to++
	}
	return from > 1 && s[from-1] == ' ' && to > at+1 && (to == len(s) || s[to] != '=' && s[to] != ';' && s[to] != ' ')
}

// quotedEnd returns where the value ends whose quote stands at s[at]. Where that quote is itself inside of a string,
// \" ends the value as it began it; elsewhere it is a part of it.
func quotedEnd(s string, at int) int {
	inString := at > 0 && s[at-1] == '\\'
	to := at + 1
	for to < len(s) && s[to] != s[at] && s[to] != '\n' {
		n := 0
		for to+n < len(s) && s[to+n] == '\\' {
			n++
		}
		if inString && to+n < len(s) && s[to+n] == s[at] {
			return to
		}
		if n%2 == 1 && to+n < len(s) {
			n++ // the escaped byte
		}
		to += max(n, 1)
	}
	return to
}

// separator are the bytes that may stand between a name and its value; read only.
var separator = bytesOf("=: >,|(")

// valueEnd are the bytes that end a value without quotes; read only.
var valueEnd = bytesOf("\r\n\"'`<>,\\|")

// apart reports that a comma or a bar stands behind a name and not just behind a
// word: ("Authorization", "Bearer …"), | API_KEY | … |.
func apart(s string, i int) bool {
	switch s[i] {
	case ',':
		return i > 0 && (s[i-1] == '"' || s[i-1] == '\'')
	case '(': // login("…")
		return i > 0 && word[s[i-1]] && firstLiteral(s, i) > 0
	case '|':
		return i > 1 && (s[i-1] == ' ' || s[i-1] == '`') && (word[s[i-2]] || s[i-2] == '`')
	}
	return true
}

// parameterKind tells what a parameter of a URL is whose name says nothing elsewhere.
func parameterKind(name string) (string, strength) {
	switch strings.ToLower(name) {
	case "sig", "signature":
		return "signature", weak
	case "key", "code":
		return "url-key", weakest
	}
	return "", none
}

// logsIn reports the name of a function that takes a credential.
func logsIn(name string) bool {
	var room [maxFunction]byte
	switch string(lastWord(&room, name)) {
	case "login", "authenticate":
		return true
	}
	return false
}

// setsSecret reports a command that stores what follows as a secret.
func setsSecret(head string) bool {
	line := head[strings.LastIndexByte(head, '\n')+1:]
	return strings.Contains(line, "secret set ") || strings.Contains(line, "secrets set ") ||
		strings.Contains(line, "secret create ") || strings.Contains(line, "variable set ")
}

// lineOfConfig reports names behind which configuration files have a blank.
func lineOfConfig(name string) bool {
	switch name {
	case "_authToken", "requirepass", "masterauth", "rootpw", "bindpw":
		return true
	}
	return false
}

// bareNames are the names without - and _ after which a blank may stand before the value; read only.
var bareNames = []string{"by", "BY", "By", "bY", "password", "PASSWORD", "passwd", "PSK", "requirepass", "masterauth",
	"rootpw", "bindpw"}

// valueFollows reports the names after which a blank may stand before the value.
func valueFollows(name string) bool {
	return joined(name) || name == "_authToken" || slices.Contains(bareNames, name)
}

// endsBareName reports whether one of bareNames may end where s does, by its last two bytes: after most words of a
// sentence none does.
func endsBareName(s string) bool {
	n := len(s)
	return n >= 2 && bareEnds[0][s[n-2]] && bareEnds[1][s[n-1]]
}

// bareEnds are the last byte but one and the last byte of bareNames; read only.
var bareEnds = func() (t [2][256]bool) {
	for _, name := range bareNames {
		t[0][name[len(name)-2]], t[1][name[len(name)-1]] = true, true
	}
	return t
}()

// joined reports a name that has a _ or - in it, and not before anything else.
func joined(name string) bool {
	for i := 0; i < len(name); i++ {
		if name[i] == '_' || name[i] == '-' {
			return i > 0
		}
	}
	return false
}

// ipsec reports the word PSK where the file of secrets of IPsec puts a key in quotes behind it.
func ipsec(s, name string, at int) bool { return name == "PSK" && at < len(s) && s[at] == '"' }

// logsInBefore reports whether the blank s[i] may stand behind one of the words machine and login.
func logsInBefore(s string, i int) bool {
	if i < 3 {
		return false
	}
	switch s[i-1] | 32 {
	case 'n':
		return s[i-2]|32 == 'i' && s[i-3]|32 == 'g'
	case 'e':
		return s[i-2]|32 == 'n' && s[i-3]|32 == 'i'
	}
	return false
}

// maxEntry is how many bytes before the word password tell its kind.
const maxEntry = 200

// netrcOrSQL reports the word password where a language puts the value after it. login says that one of the words
// machine and login may stand before it.
func netrcOrSQL(s string, from, at int, login bool) bool {
	for at < len(s) && s[at] == ' ' {
		at++
	}
	if !login && (at == len(s) || s[at] != '\'' && s[at] != '"') {
		return false
	}
	entry := strings.ToLower(s[max(0, from-maxEntry):from])
	line := entry[strings.LastIndexByte(entry, '\n')+1:]
	if strings.TrimSpace(line) == "" && (strings.Contains(entry, "machine ") || strings.Contains(entry, "login ")) {
		return true
	}
	if strings.Contains(line, "machine ") || strings.Contains(line, "login ") {
		return true
	}
	if at < len(s) && s[at] == '"' && strings.HasSuffix(line, "identified ") { // Oracle
		return true
	}
	return at < len(s) && s[at] == '\'' &&
		(strings.Contains(line, "role") || strings.Contains(line, "user") || strings.Contains(line, "encrypted") ||
			strings.HasSuffix(line, "identified ") || strings.Contains(line, "alter") || strings.Contains(line, "with"))
}
