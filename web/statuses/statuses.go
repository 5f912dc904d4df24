package statuses

import (
	"fmt"
	"strconv"
	"strings"
)

// The statuses of HTTP (RFC 9110, section 15), of which the classes beyond 5 are not defined.
const (
	Least = 100
	Most  = 599
)

// Set is a set of statuses. The zero value is empty.
type Set struct {
	bits [Most/64 + 1]uint64
}

// Has reports whether a status is in the set.
func (s *Set) Has(status int) bool {
	return status >= 0 && status <= Most && s.bits[status/64]>>(status%64)&1 == 1
}

// Parse reads a list of statuses and ranges of them, none below least. An error ends with what to
// write: remedy, such as "a list such as 200,301-308".
func Parse(text string, least int, remedy string) (s Set, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := parseStatus(from, least, remedy)
		if err != nil {
			return Set{}, err
		}
		last, err := parseStatus(to, least, remedy)
		if err != nil {
			return Set{}, err
		}
		if last < first {
			return Set{}, fmt.Errorf("%q ends before it begins: write %d-%d",
				strings.TrimSpace(part), last, first)
		}
		for n := first; n <= last; n++ {
			s.bits[n/64] |= 1 << (n % 64)
		}
	}
	return s, nil
}

func parseStatus(text string, least int, remedy string) (int, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || n < least || n > Most {
		return 0, fmt.Errorf("%q is not a status from %d to %d: write %s",
			text, least, Most, remedy)
	}
	return n, nil
}
