package redact

import "strings"

// literals is a bit for each of the literals that a text has.
type literals uint64

// literalWindow is how many bytes of a literal are looked for, and no literal is shorter: two bytes of the text in
// three tell whether one is there.
const literalWindow = 4

// literalList are the fixed texts without which a detector of programs, files or keys finds nothing; read only. Each is
// looked for by the part of it whose pairs of letters are the least common.
var literalList = func() []string {
	list := []string{"curl", "http", "printenv ", "echo $", `echo "$`, "alias set ", "createUser ", `form-data; name="`,
		"WIFI:",
		"@tcp(", "@unix(", "PASSWORD FOR ", "chpasswd", "TRUE\t", "FALSE\t", "kind: Secret", `"Secret"`, "PRIVATE KEY",
		"Static key V1", "SECRET KEY", "Private-Lines:"}
	for _, f := range programFlags {
		if len(f.program) >= literalWindow {
			list = append(list, f.program)
		}
	}
	return list
}()

// literalOf returns the bit of a literal that is looked for.
func literalOf(text string) literals {
	for n, have := range literalList {
		if have == text {
			return 1 << n
		}
	}
	panic("redact: nothing looks for " + text)
}

// literalSpot is a place in a literal, where two bytes of its window stand.
type literalSpot struct {
	text string
	at   int
	bit  literals
}

// literalTable has the spots by their two bytes; number 0 is the empty list.
type literalTable struct {
	heads  headSet
	number [1 << 16]uint8
	spots  [][]literalSpot
}

// literalSpots is read only.
var literalSpots = func() *literalTable {
	t := &literalTable{spots: make([][]literalSpot, 1)}
	done := map[string]bool{}
	for _, text := range literalList {
		if done[text] {
			continue
		}
		done[text] = true
		from := rareWindow(text)
		for at := from; at+1 < from+literalWindow; at++ {
			head := uint16(text[at])<<8 | uint16(text[at+1])
			if t.number[head] == 0 {
				t.number[head] = uint8(len(t.spots))
				t.spots = append(t.spots, nil)
				t.heads.add(head)
			}
			n := t.number[head]
			t.spots[n] = append(t.spots[n], literalSpot{text, at, literalOf(text)})
		}
	}
	return t
}()

// commonPairs are those pairs of characters in the literals that are the most common in texts and programs, the most
// common first.
const commonPairs = `iners ret esteoronngat s "enr : ntse nritritndasetalcoedunmeurar` +
	`netiec listageniveooampalotoeahoctmalichdirakefonay olad`

// rareWindow returns where the window of a literal begins whose pairs are the least common.
func rareWindow(text string) (at int) {
	least := -1
	for from := 0; from+literalWindow <= len(text); from++ {
		sum := 0
		for i := from; i+1 < from+literalWindow; i++ {
			for n := 0; n < len(commonPairs); n += 2 {
				if commonPairs[n:n+2] == text[i:i+2] {
					sum += len(commonPairs) - n
				}
			}
		}
		if least < 0 || sum < least {
			least, at = sum, from
		}
	}
	return at
}

// literalsIn returns which of the literals a text has.
func literalsIn(s string) (have literals) {
	for i := 0; i+1 < len(s); i += literalWindow - 1 {
		head := uint16(s[i])<<8 | uint16(s[i+1])
		if !literalSpots.heads.has(head) {
			continue
		}
		for _, spot := range literalSpots.spots[literalSpots.number[head]] {
			if have&spot.bit == 0 && i >= spot.at && strings.HasPrefix(s[i-spot.at:], spot.text) {
				have |= spot.bit
			}
		}
	}
	return have
}
