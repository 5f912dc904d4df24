package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// beyond is the error of a number that no variable can hold.
type beyond struct {
	text  string
	small bool
	bound string // the last one that fits
}

func (b *beyond) Error() string {
	if b.small {
		return fmt.Sprintf("%s is too small: give at least %s", b.text, b.bound)
	}
	return fmt.Sprintf("%s is too large: give at most %s", b.text, b.bound)
}

// Bounded is err with the bound of the setting in it, when err says that a value is beyond every
// bound. Other flags than settings have the bounds of their type.
func Bounded(name string, err error) error {
	var b *beyond
	if !errors.As(err, &b) {
		return err
	}
	if own := boundOf(name, b.small); own != "" {
		return &beyond{text: b.text, small: b.small, bound: own}
	}
	return err
}

// boundOf is the smallest or largest value of a setting, by its own check; "": it has none.
func boundOf(name string, smallest bool) string {
	c := Default()
	for _, f := range fieldsOf(&c) {
		if f.name != name {
			continue
		}
		v := f.value
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		extreme, word := int64(math.MaxInt64), " give at most "
		if smallest {
			extreme, word = math.MinInt64, " give at least "
		}
		switch v.Kind() {
		case reflect.Int, reflect.Int64:
			v.SetInt(extreme)
		default:
			return ""
		}
		err := c.Validate()
		if err == nil {
			return ""
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if _, bound, ok := strings.Cut(line, word); ok && strings.HasPrefix(line, "--"+name+": ") {
				return bound
			}
		}
		if smallest && v.Type() == reflect.TypeFor[time.Duration]() {
			return "0s"
		}
	}
	return ""
}

// ParseInt reads a whole number of so many bits. The error says what to write.
func ParseInt(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, strconv.ErrRange):
		return 0, &beyond{text: text, small: n < 0, bound: strconv.FormatInt(n, 10)}
	}
	return 0, fmt.Errorf("%q is not a whole number: write it with digits alone, such as 1000", text)
}

// ParseFloat reads a number. The error says what to write.
func ParseFloat(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil && !math.IsNaN(x) && !math.IsInf(x, 0):
		return x, nil
	case errors.Is(err, strconv.ErrRange):
		bound := math.Copysign(math.MaxFloat64, x)
		return 0, &beyond{text: text, small: x < 0, bound: strconv.FormatFloat(bound, 'g', 3, 64)}
	}
	return 0, fmt.Errorf("%q is not a number: write one such as 0.5", text)
}

// fitsDuration says whether so many of a unit are beyond what a duration can be.
func fitsDuration(text string, number float64, unit string) error {
	one, err := time.ParseDuration("1" + unit)
	if err != nil || math.Abs(number)*float64(one) < math.MaxInt64 {
		return nil
	}
	bound := time.Duration(math.MaxInt64).Truncate(time.Hour)
	if number < 0 {
		return &beyond{text: text, small: true, bound: "0s"}
	}
	return &beyond{text: text, bound: bound.String()}
}
