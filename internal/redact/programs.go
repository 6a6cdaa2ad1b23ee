package redact

import "strings"

// programFlag is a flag of a program behind which a password stands.
type programFlag struct {
	program string
	word    string // must stand in the command, too
	flag    string
	user    string // what separates the user from the password; "" when there is no user
}

// programFlags are from the programs' manuals; read only.
var programFlags = []programFlag{
	{program: "mysql", flag: " -p"}, {program: "mariadb", flag: " -p"}, {program: "sshpass", flag: " -p"},
	{program: "redis-cli", flag: " -a "},
	{program: "ldap", flag: " -w "}, {program: "mongo", flag: " -p "}, {program: "ssh-keygen", flag: " -N "},
	{program: "ssh-keygen", flag: " -P "},
	{program: " login", flag: " -p "}, {program: "unzip", flag: " -P "}, {program: "zip", flag: " -P "},
	{program: "7z", flag: " -p"},
	{program: "sqlcmd", flag: " -P "}, {program: "bcp", flag: " -P "}, {program: "ipmitool", flag: " -P "},
	{program: "mosquitto_", flag: " -P "},
	{program: "xfreerdp", flag: " /p:"}, {program: "smbclient", flag: " -U ", user: "%"},
	{program: "rpcclient", flag: " -U ", user: "%"},
	{program: "lftp", flag: " -u ", user: ","}, {program: "net use", flag: "/user:", user: " "},
	{program: "htpasswd", word: " -", flag: "htpasswd ", user: " "},
	{program: "rabbitmqctl", flag: "add_user ", user: " "}, {program: "rabbitmqctl", flag: "change_password ", user: " "},
	{program: "wpa_passphrase", flag: "wpa_passphrase ", user: " "}, {program: "nmcli", flag: " password "},
	{program: "sp_addlogin", flag: ", "}, {program: "bitcoin-cli", flag: "importprivkey "},
	{program: "snyk", flag: "snyk auth "}, {program: "vault", flag: "vault login "},
	{program: "::add-mask::", flag: "::add-mask::"},
	{program: "CONNECT", word: "@", flag: "CONNECT ", user: "/"},
	{program: "sqlplus", word: "@", flag: "sqlplus ", user: "/"},
	{program: "ConvertTo-SecureString", word: "-AsPlainText", flag: "ConvertTo-SecureString "},
}

// programBits are the literals of programFlags; 0: the program's name is too short to be one. Read only.
var programBits = func() []literals {
	out := make([]literals, len(programFlags))
	for k := range programFlags {
		if p := programFlags[k].program; len(p) >= literalWindow {
			out[k] = literalOf(p)
		}
	}
	return out
}()

// httpClients are programs that take a user and a password; read only.
var httpClients = literalOf("curl") | literalOf("http")

// programLiterals are those without which findFlags finds only programs of shorter names; read only.
var programLiterals = func() literals {
	all := httpClients
	for _, bit := range programBits {
		all |= bit
	}
	return all
}()

// programs reports whether a text may name a program that takes a password.
func (c *census) programs() bool {
	return c.literals&programLiterals != 0 || c.all("zip") || c.all("bcp") || c.all("7z")
}

// findFlags finds credentials of command-line clients: curl -u user:password.
func findFlags(s string, c *census, add func(kind string, from, to int)) {
	var letters [256]bool // of the flags in the text
	for at := 0; ; {
		i := strings.Index(s[at:], " -")
		if i < 0 || at+i+2 >= len(s) {
			break
		}
		at += i + 2
		letters[s[at]] = true
	}
	var room [8]*programFlag
	flags := room[:0] // of the programs that are named at all
	for k := range programFlags {
		f, bit := &programFlags[k], programBits[k]
		if f.flag[1] == '-' && !letters[f.flag[2]] || bit != 0 && c.literals&bit == 0 || bit == 0 && !contains(s, f.program) {
			continue
		}
		flags = append(flags, f)
	}
	users := (letters['u'] || letters['U'] || letters['-']) && c.literals&httpClients != 0
	if len(flags) == 0 && !users {
		return
	}
	at := 0
	for line := range strings.SplitSeq(s, "\n") {
		found := func(kind string, from, to int) { add(kind, at+from, at+to) }
		for _, f := range flags {
			f.find(line, found)
		}
		if users {
			findUsers(line, found)
		}
		at += len(line) + 1
	}
}

// contains is strings.Contains, by the byte of the word that is least frequent in texts: the library looks for the
// first.
func contains(s, word string) bool {
	const frequent = "kvbygpwfmucdlhrsnioate " // the rest is less so; the most frequent last
	rare, least := 0, len(frequent)
	for i := range len(word) {
		if at := strings.IndexByte(frequent, word[i]); at < least {
			rare, least = i, at
		}
	}
	for at := rare; at < len(s); at++ {
		i := strings.IndexByte(s[at:], word[rare])
		if i < 0 {
			return false
		}
		if at += i; strings.HasPrefix(s[at-rare:], word) {
			return true
		}
	}
	return false
}

// find looks through one line.
func (f *programFlag) find(line string, add func(kind string, from, to int)) {
	i := strings.Index(line, f.program)
	if i < 0 || !strings.Contains(line[i:], f.word) {
		return
	}
	j := strings.Index(line[i:], f.flag)
	if j < 0 {
		return
	}
	from, to := f.value(line, i+j+len(f.flag))
	if v := line[from:to]; v != "" && v[0] != '-' && credible(v, strong, true) &&
		(strings.ContainsAny(v, "0123456789!@#%^&*") || !identifier(v)) {
		add("password", from, to)
	}
}

// findUsers finds the password of -u user:password of an HTTP client.
func findUsers(line string, add func(kind string, from, to int)) {
	if !strings.Contains(line, "curl") && !strings.Contains(line, "http") {
		return
	}
	for _, flag := range [...]string{"-u", "--user ", "--user=", "--proxy-user ", "-U "} {
		for at := 0; ; {
			i := strings.Index(line[at:], flag)
			if i < 0 {
				break
			}
			at += i + len(flag)
			from, to, _ := valueAt(line, at)
			user, pass, ok := strings.Cut(line[from:to], ":")
			if ok && credible(pass, strong, true) && !strings.HasPrefix(pass, "//") {
				add("password", from+len(user)+1, to)
			}
			at = max(at, to)
		}
	}
}

// value returns the password that stands at or after line[at:]; it is empty when there is none.
func (f *programFlag) value(line string, at int) (from, to int) {
	if f.program == "htpasswd" { // flags, then the file, then the user
		for files := 1; ; {
			word, _, more := strings.Cut(line[at:], " ")
			switch {
			case !more:
				return at, at
			case !strings.HasPrefix(word, "-"):
				files--
			case strings.Contains(word, "n"): // to standard output: there is no file
				files--
			case strings.HasSuffix(word, "C"): // its cost is a word of its own
				files++
			}
			if files < 0 { // the user
				break
			}
			at += len(word) + 1
		}
	}
	if f.user == " " {
		n := strings.IndexByte(line[at:], ' ')
		if n < 0 {
			return at, at
		}
		at += n + 1
	}
	from, to, _ = valueAt(line, at)
	if f.user != "" && f.user != " " {
		i := strings.Index(line[from:], f.user)
		if i < 0 || i > to-from {
			return from, from
		}
		from, to, _ = valueAt(line, from+i+1)
	}
	if f.word == "@" {
		if i := strings.IndexByte(line[from:to], '@'); i >= 0 {
			to = from + i
		}
	}
	return from, to
}
