package redact

import "strings"

// findShown finds what a command prints or sets up by the place of its words: the line behind printenv NAME, the secret
// of mc alias set, the passwords of createUser.
func findShown(s string, c *census, add func(kind string, from, to int)) {
	for k, mark := range printing {
		if c.literals&printingBits[k] != 0 {
			findPrinted(s, mark, add)
		}
	}
	if c.literals&literalAlias != 0 {
		findWords(s, "alias set ", func(words [][2]int) {
			if len(words) > 3 { // NAME URL ACCESS SECRET
				addWord(s, words[3], add)
			}
		})
	}
	if c.literals&literalUser != 0 {
		findWords(s, "createUser ", func(words [][2]int) {
			for i := 1; i+1 < len(words); i++ {
				switch way := s[words[i][0]:words[i][1]]; {
				case way == "MD5", strings.HasPrefix(way, "SHA"), way == "DES", strings.HasPrefix(way, "AES"):
					addWord(s, words[i+1], add)
				}
			}
		})
	}
}

// Read only.
var (
	printing      = [...]string{"printenv ", "echo $", "echo \"$"} // what prints a variable
	printingBits  = [...]literals{literalOf(printing[0]), literalOf(printing[1]), literalOf(printing[2])}
	literalAlias  = literalOf("alias set ")
	literalUser   = literalOf("createUser ")
	literalsShown = printingBits[0] | printingBits[1] | printingBits[2] | literalAlias | literalUser
)

// findPrinted finds the line that a command prints for a variable that is a secret by its name.
func findPrinted(s, mark string, add func(kind string, from, to int)) {
	for at := 0; ; {
		i := strings.Index(s[at:], mark)
		if i < 0 {
			return
		}
		at += i + len(mark)
		from := at
		if from < len(s) && s[from] == '{' {
			from++
		}
		to := from
		for to < len(s) && (word[s[to]] || s[to] == '_') {
			to++
		}
		kind, _ := nameKind(s[from:to])
		rest := strings.TrimLeft(s[to:], "}\"")
		if kind == "" || !strings.HasPrefix(rest, "\n") {
			continue
		}
		line, _, _ := strings.Cut(rest[1:], "\n")
		begin := len(s) - len(rest) + 1
		if line = strings.TrimRight(line, " \r"); !strings.Contains(line, " ") && credible(line, strong, true) {
			add(kind, begin, begin+len(line))
		}
	}
}

// findWords has the words of each line behind a mark looked at, without their quotes.
func findWords(s, mark string, look func(words [][2]int)) {
	line := lineEnd(-1) // a line may have many marks
	for at := 0; ; {
		i := strings.Index(s[at:], mark)
		if i < 0 {
			return
		}
		at += i + len(mark)
		end := line.of(s, at)
		var words [][2]int
		for at < end && len(words) < 8 {
			for at < end && (s[at] == ' ' || s[at] == '\t') {
				at++
			}
			from, to, quoted := valueAt(s, at)
			if to = min(to, end); to <= from {
				break
			}
			words = append(words, [2]int{from, to})
			if at = to; quoted {
				at = min(to+1, len(s)) // the quote may be missing
			}
		}
		look(words)
	}
}

// lineEnd is where the line ends that was looked at last. It is searched for once, not from each place in the line.
type lineEnd int

// of returns the end of the line of s[at:]. Precondition: the place is behind the last one, if there was one.
func (l *lineEnd) of(s string, at int) int {
	if at > int(*l) {
		*l = lineEnd(len(s))
		if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
			*l = lineEnd(at + n)
		}
	}
	return int(*l)
}

// addWord adds a word that is a secret by its place.
func addWord(s string, at [2]int, add func(kind string, from, to int)) {
	if v := s[at[0]:at[1]]; credible(v, strong, true) && !identifier(v) {
		add("password", at[0], at[1])
	}
}
