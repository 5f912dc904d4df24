package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. Its text form is a whole or decimal number with a
// unit: B, KiB, MiB, GiB, TiB (powers of 1024), or KB, MB, GB, TB (powers of
// 1000). K, M, G and T are KiB, MiB, GiB and TiB. A number without a unit is bytes.
type Size int64

// The units, longest names first, so that "MiB" is not taken for "B".
var sizeUnits = [...]struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10},
}

// UnmarshalText reads the text form. Upper and lower case are alike.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	number, unit := in, int64(1)
	for _, u := range sizeUnits {
		if len(in) > len(u.name) && strings.EqualFold(in[len(in)-len(u.name):], u.name) {
			number, unit = strings.TrimSpace(in[:len(in)-len(u.name)]), u.bytes
			break
		}
	}
	if strings.Trim(number, "0123456789.") != "" {
		return fmt.Errorf("%q is not a size: write a number and a unit, such as 512MiB or 1GiB", in)
	}
	n, err := strconv.ParseFloat(number, 64)
	if err == nil && n*float64(unit) >= math.MaxInt64 || errors.Is(err, strconv.ErrRange) {
		return &beyond{text: in, bound: Size(math.MaxInt64 >> 40 << 40).String()}
	}
	if err != nil {
		return fmt.Errorf("%q is not a size: write a number and a unit, such as 512MiB or 1GiB", in)
	}
	*s = Size(n * float64(unit))
	return nil
}

// MarshalText writes the shortest text form that reads back the same.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Size) String() string {
	for _, u := range sizeUnits[:4] {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}
