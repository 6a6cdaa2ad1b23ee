package redact

// phraseKind is the kind of a name that is telling only before the words of a wallet's seed.
const phraseKind = "phrase"

// wallet reports a value that is all of a wallet's seed, behind a name that says so.
func wallet(kind, v string) bool {
	return (kind == phraseKind || kind == "mnemonic") && v != "" && mnemonic(v) == len(v)
}

// mnemonic returns the length of the words of a wallet's seed at the beginning of a text: 12 to 24 short words, none of
// which is only found in sentences. It is 0 when there are none.
func mnemonic(s string) int {
	words, at, end := 0, 0, 0
	for at < len(s) && words < 25 {
		from := at
		for at < len(s) && lowerByte(s[at]) {
			at++
		}
		w := s[from:at]
		if len(w) < 3 || len(w) > 8 || at < len(s) && word[s[at]] {
			break
		}
		switch w {
		case "the", "and", "for", "with", "are", "your", "not":
			return 0
		}
		words, end = words+1, at
		for at < len(s) && (s[at] == ' ' || s[at] == ',') {
			at++
		}
	}
	if words < 12 || words > 24 || words%3 != 0 {
		return 0
	}
	return end
}
