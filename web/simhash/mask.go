package simhash

// MaskNumbers appends text to dst with every run of digits as one 0. Dates, times, counters and
// prices are the boilerplate that changes with every request; a text's other words decide whether it has
// changed. A run may have separators of numbers within: 1,234.5 and 12:30:59 are one.
func MaskNumbers(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if !digit(c) {
			dst = append(dst, c)
			i++
			continue
		}
		for i < len(text) && (digit(text[i]) || i+1 < len(text) && separator(text[i]) && digit(text[i+1])) {
			i++
		}
		dst = append(dst, '0')
	}
	return dst
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func separator(c byte) bool { return c == '.' || c == ',' || c == ':' || c == '-' || c == '/' }
