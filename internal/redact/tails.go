package redact

import "strings"

// Few words of a text end as a telling name does. The last three characters before a separator tell, each of them as
// one of 32 symbols: a letter in either case, a digit, a character that joins the parts of a name, or any other.
const (
	symbolDigit = 26
	symbolJoin  = 27
	symbolOther = 28
	symbols     = 32
)

// symbol is read only.
var symbol = func() (t [256]uint8) {
	for c := range t {
		switch b := byte(c); {
		case digit(b):
			t[c] = symbolDigit
		case word[b]:
			t[c] = (b | 32) - 'a'
		case nameByte[b]:
			t[c] = symbolJoin
		default:
			t[c] = symbolOther
		}
	}
	return t
}()

// tailSet has a bit for each three symbols.
type tailSet [symbols * symbols * symbols / 64]uint64

func (t *tailSet) add(a, b, c uint8) {
	k := uint(a)<<10 | uint(b)<<5 | uint(c)
	t[k/64] |= 1 << (k % 64)
}

// has reports whether the last three bytes of a text are in the set; end has three bytes.
func (t *tailSet) has(end string) bool {
	k := uint(symbol[end[0]])<<10 | uint(symbol[end[1]])<<5 | uint(symbol[end[2]])
	return t[k/64]>>(k%64)&1 != 0
}

// word adds the end of a word.
func (t *tailSet) word(w string) {
	n := len(w)
	t.add(symbol[w[n-3]], symbol[w[n-2]], symbol[w[n-1]])
}

// tellingEnds are how names end whose last word is telling, but for those that end in pw; read only.
var tellingEnds = strings.Fields(`ord rds swd ase pwd ort ena ass psk uth ret ets ken ens jwt pat rer key ion ial als red
	eed eds kie ies sas sig ure nic otp sid nid`)

// tellTails are the tellingEnds; read only.
var tellTails = func() *tailSet {
	t := new(tailSet)
	for _, w := range tellingEnds {
		t.word(w)
	}
	return t
}()

// otherTails are the ends of names that are telling in some place alone: of a parameter of a URL, of a pair, of a
// flag, and in prose; and of the words machine and login.
const otherTails = "sig ure key ode lue ult ody ine gin"

// nameTails are the ends of all names for whose value a detector looks; read only. A test compares what is found behind
// them with what is found behind every name.
var nameTails = func() *tailSet {
	t := new(tailSet)
	for a := range uint8(symbols) {
		for b := range uint8(symbols) {
			t.add(a, b, symbolJoin) // a name may end so
		}
		t.add(a, symbolJoin, symbolDigit)  // TOKEN_2
		t.add(a, symbolJoin, symbol['b'])  // -b
		t.add(a, symbol['b'], symbol['y']) // by
		t.add(a, symbol['p'], symbol['w'])
	}
	t.add(symbol['p'], symbol['w'], symbolDigit) // pw1
	t.add(symbolJoin, symbolDigit, symbolDigit)  // TOKEN_12
	for _, w := range tellingEnds {
		t.word(w)
		t.word(w[1:] + "1") // password1
	}
	for w := range stages {
		t.word("_" + w)
	}
	for w := range strings.FieldsSeq(otherTails) {
		t.word(w)
	}
	return t
}()
