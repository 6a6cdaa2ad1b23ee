package tiers

// fillSlots assigns signers to threshold slots: fits[s] lists the signers that may fill
// slot s. Each signer fills one slot at most. It returns the signer of each slot, or -1.
//
// Slots are filled in order along augmenting paths (Kuhn): a filled slot stays filled,
// and the number of filled slots is the largest possible. A caller puts the required
// slots first. It learns whether all of them can be filled, and how many others beside them.
func fillSlots(fits [][]int, signers int) []int {
	slotOf := make([]int, signers)
	for i := range slotOf {
		slotOf[i] = -1
	}
	var try func(slot int, seen []bool) bool
	try = func(slot int, seen []bool) bool {
		for _, s := range fits[slot] {
			if seen[s] {
				continue
			}
			seen[s] = true
			if slotOf[s] < 0 || try(slotOf[s], seen) {
				slotOf[s] = slot
				return true
			}
		}
		return false
	}
	for slot := range fits {
		try(slot, make([]bool, signers))
	}
	out := make([]int, len(fits))
	for i := range out {
		out[i] = -1
	}
	for s, slot := range slotOf {
		if slot >= 0 {
			out[slot] = s
		}
	}
	return out
}
