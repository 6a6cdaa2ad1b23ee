package tiers

// fillSeats seats signers: fits[s] lists the signers that may take seat s. Each
// signer takes one seat at most. It returns the signer of every seat, or -1.
//
// Seats are served in order by augmenting paths (Kuhn): a seat once filled stays
// filled, and the number of filled seats is the largest possible. So a caller that
// puts the seats it cannot do without first learns whether they can all be filled,
// and then how many of the others can be filled beside them.
func fillSeats(fits [][]int, signers int) []int {
	seatOf := make([]int, signers)
	for i := range seatOf {
		seatOf[i] = -1
	}
	var try func(seat int, seen []bool) bool
	try = func(seat int, seen []bool) bool {
		for _, s := range fits[seat] {
			if seen[s] {
				continue
			}
			seen[s] = true
			if seatOf[s] < 0 || try(seatOf[s], seen) {
				seatOf[s] = seat
				return true
			}
		}
		return false
	}
	for seat := range fits {
		try(seat, make([]bool, signers))
	}
	out := make([]int, len(fits))
	for i := range out {
		out[i] = -1
	}
	for s, seat := range seatOf {
		if seat >= 0 {
			out[seat] = s
		}
	}
	return out
}
