package deflate

import "math/bits"

const (
	literalSymbols  = 286
	distanceSymbols = 30
	endOfBlock      = 256
	// maxLiteralBits is less than the format allows, 15: so four literals fit into a word with what is left of the one before.
	maxLiteralBits  = 14
	maxDistanceBits = 15
)

// lengthExtra and distanceExtra are the extra bits of the symbols (RFC 1951, section 3.2.5).
var (
	lengthExtra   = [32]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	distanceExtra = [32]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}

	// lengthBase and distanceBase are the smallest length, less 3, and distance, less 1, of each symbol.
	lengthBase   = lengthBases()
	distanceBase = distanceBases()
	// lengthSymbols are the symbols of lengths, less 257, by the length less 3.
	lengthSymbols = symbolsOfLengths()
)

func lengthBases() (base [32]uint8) {
	at := 0
	for i := range 28 {
		base[i] = uint8(at)
		at += 1 << lengthExtra[i]
	}
	base[28] = maxMatch - 3 // has a symbol of its own
	return base
}

func distanceBases() (base [32]uint16) {
	at := 0
	for i := range distanceSymbols {
		base[i] = uint16(at)
		at += 1 << distanceExtra[i]
	}
	return base
}

func symbolsOfLengths() (symbols [256]uint8) {
	s := 0
	for n := range symbols {
		for s < 28 && n >= int(lengthBase[s+1]) {
			s++
		}
		symbols[n] = uint8(s)
	}
	return symbols
}

// distanceSymbol returns the symbol of a distance less 1: two for each power of two.
func distanceSymbol(d uint32) uint32 {
	if d < 2 {
		return d
	}
	top := uint32(bits.Len32(d) - 1)
	return 2*top + d>>(top-1)&1
}
