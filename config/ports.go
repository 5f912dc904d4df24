package config

import (
	"fmt"
	"strconv"
	"strings"
)

// PortRange is a part of --allow-ports: a port, a range of them, or those of the seeds.
type PortRange struct {
	First, Last uint16
	Seeds       bool // in place of the numbers
}

// UnmarshalText reads 443, 8000-9000 or seeds.
func (p *PortRange) UnmarshalText(text []byte) error {
	word := strings.TrimSpace(string(text))
	if word == "seeds" {
		*p = PortRange{Seeds: true}
		return nil
	}
	first, last, isRange := strings.Cut(word, "-")
	if !isRange {
		last = first
	}
	a, err := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	if err != nil || err2 != nil || a == 0 || a > b {
		return fmt.Errorf("%q is not a port: write 443, 8000-9000, or seeds for the ports of the seeds",
			word)
	}
	*p = PortRange{First: uint16(a), Last: uint16(b)}
	return nil
}

func (p PortRange) String() string {
	switch {
	case p.Seeds:
		return "seeds"
	case p.First == p.Last:
		return strconv.Itoa(int(p.First))
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// MarshalText writes what UnmarshalText reads.
func (p PortRange) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Has reports whether port is in the range. isSeeds, called only when needed, reports whether a
// seed has it.
func (p PortRange) Has(port uint16, isSeeds func() bool) bool {
	if p.Seeds {
		return isSeeds()
	}
	return p.First <= port && port <= p.Last
}
