package wasm

// Price is what an instruction costs the engine, metered, wherever it stands. What
// depends on where it stands is for Estimate.
type Price struct {
	Nanos uint32 // processor time in nanoseconds on the machine of the fit
	Bytes uint32 // memory, until the function that it stands in is compiled
}

// Prices of operands. An instruction's row in the table covers its fixed operands; these
// are for the operands of calls, each of which the engine moves to its place.
const (
	nsPerParam     = 600
	nsPerResult    = 1_000
	bytesPerParam  = 220
	bytesPerResult = 560
)

// price is the row of o. The table has one for each instruction that the parser takes;
// an instruction without a row is the dearest of all.
func (o Op) price() Price {
	var p Price
	switch {
	case o < 0x100:
		p = corePrices[o]
	case o>>8 == 0xfc && o&0xff < Op(len(miscPrices)):
		p = miscPrices[o&0xff]
	case o>>8 == 0xfd:
		p = simdPrices[o&0xff]
	}
	if p == (Price{}) {
		return dearest
	}
	return p
}

// dearest is what an instruction without a price costs.
var dearest = Price{Nanos: 100_000, Bytes: 50_000}

// Price is what one instruction costs without the operands of calls; false for one that
// has no row in the table of prices.
func (o Op) Price() (Price, bool) {
	p := o.price()
	return p, p != dearest
}

// pay adds the price of the instruction at hand.
func (v *validator) pay() {
	p := v.in.Op.price()
	v.facts.Nanos += uint64(p.Nanos)
	v.facts.Bytes += uint64(p.Bytes)
}

// payCall adds what the operands of a call cost.
func (v *validator) payCall(t *FuncType) {
	p, r := uint64(len(t.Params)), uint64(len(t.Results))
	v.facts.Nanos += nsPerParam*p + nsPerResult*r
	v.facts.Bytes += bytesPerParam*p + bytesPerResult*r
}
