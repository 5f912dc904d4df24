package config

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"crawlnode/web/scope"
)

// unbounded is the bound of numbers and durations without a max tag: the sum of two does not
// overflow.
const unbounded = 1 << 62

// validateByTags checks each setting alone: against its bounds, and the words of its placeholder.
func (c *Config) validateByTags() error {
	var problems []error
	for _, f := range fieldsOf(c) {
		problems = append(problems, f.check())
	}
	return errors.Join(problems...)
}

// check checks the setting against its tags.
func (f field) check() error {
	if text, ok := f.value.Interface().(string); ok && f.words() != nil {
		return checkWord(f.name, text, f.words()...)
	}
	if f.tag.Get("min") == "" {
		if f.tag.Get("max") != "" {
			panic("BUG: --" + f.name + " has a max and no min")
		}
		return nil
	}
	low, high := f.bound("min"), f.bound("max")
	switch v := f.value.Interface().(type) {
	case Size:
		return checkSize(f.name, v, Size(low), Size(high))
	case time.Duration:
		return checkDuration(f.name, v, time.Duration(low), time.Duration(high))
	}
	return checkRange(f.name, f.value.Int(), low, high)
}

// bound reads a bound, which is written as the setting itself is.
func (f field) bound(tag string) int64 {
	text, ok := f.tag.Lookup(tag)
	switch {
	case ok:
	case f.value.Type() == reflect.TypeFor[Size]():
		return math.MaxInt64
	default:
		return unbounded
	}
	v := reflect.New(f.value.Type()).Elem()
	if err := parse(v, text); err != nil {
		panic("BUG: the " + tag + " of --" + f.name + ": " + err.Error())
	}
	return v.Int()
}

// checkWord requires one of a few words.
func checkWord(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	hint := ""
	if s := Suggest(value, words); s != "" {
		hint = fmt.Sprintf("; did you mean %q?", s)
	}
	last := len(words) - 1
	return fmt.Errorf("--%s: %q is not %s or %s%s", flag, value, strings.Join(words[:last], ", "),
		words[last], hint)
}

// checkRange requires a number between two bounds, both included.
func checkRange(flag string, n, low, high int64) error {
	switch {
	case n < low:
		return fmt.Errorf("--%s: %d is too small: give at least %d", flag, n, low)
	case n > high:
		return fmt.Errorf("--%s: %d is too large: give at most %d", flag, n, high)
	}
	return nil
}

// checkPatterns requires patterns of package scope, and names each that is none.
func checkPatterns(flag string, patterns []string) error {
	var problems []error
	for _, text := range patterns {
		if _, err := scope.ParsePattern(text); err != nil {
			problems = append(problems,
				fmt.Errorf("--%s: pattern %q: %s", flag, text, strings.ReplaceAll(err.Error(), "\n", `\n`)))
		}
	}
	return errors.Join(problems...)
}

// checkSize requires a number of bytes between two bounds, both included.
func checkSize(flag string, s, low, high Size) error {
	switch {
	case s < low:
		return fmt.Errorf("--%s: %v is too small: give at least %v", flag, s, low)
	case s > high:
		return fmt.Errorf("--%s: %v is too large: give at most %v", flag, s, high)
	}
	return nil
}

// checkDuration requires a duration from low, which is not below 0, to high.
func checkDuration(flag string, d, low, high time.Duration) error {
	switch {
	case low > 0 && (d < low || d > high):
		return fmt.Errorf("--%s: %v is not between %v and %v: give a time such as 30s",
			flag, d, low, high)
	case d < 0:
		return fmt.Errorf("--%s: %v is below zero: give a duration such as 30s", flag, d)
	case d > high:
		return fmt.Errorf("--%s: %v is too long: give at most %v", flag, d, high)
	}
	return nil
}

// checkName requires a name that is valid in a path, a label and a message.
func checkName(flag, name string, mayBeEmpty bool) error {
	if name == "" {
		if mayBeEmpty {
			return nil
		}
		return fmt.Errorf("--%s: is empty: give a name, or leave the flag out", flag)
	}
	if len(name) > maxNameBytes {
		return fmt.Errorf("--%s: %q is longer than %d bytes", flag, name, maxNameBytes)
	}
	if name[0] == '.' || name[0] == '-' ||
		strings.ContainsFunc(name, func(r rune) bool { return !isNameByte(r) }) {
		return fmt.Errorf(
			"--%s: %q: use letters, digits, '-', '_' and '.', beginning with a letter or digit", flag, name)
	}
	return nil
}

// isNameByte reports whether a name may contain r.
func isNameByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' ||
		r == '_' || r == '.'
}

// checkPartitions requires a power of two or a prime: with other numbers some hash functions spread
// the hosts unevenly.
func checkPartitions(n int) error {
	if n < minPartitions || n > maxPartitions {
		return checkRange("partitions", int64(n), minPartitions, maxPartitions)
	}
	if n&(n-1) == 0 || isPrime(n) {
		return nil
	}
	power := minPartitions
	for power < n {
		power *= 2
	}
	return fmt.Errorf("--partitions: %d is neither a power of two nor a prime: use %d", n, power)
}

func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n > 1
}

// isContact accepts a mail address or an http(s) URL without characters that could break out of a
// header.
func isContact(s string) bool {
	if !printable(s) || strings.ContainsAny(s, " ()<>") {
		return false
	}
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		u, err := url.Parse(s)
		return err == nil && u.Host != ""
	}
	s = strings.TrimPrefix(s, "mailto:")
	user, domain, ok := strings.Cut(s, "@")
	return ok && user != "" && domain != "" && !strings.Contains(domain, "@")
}

// printable reports whether s is ASCII without control bytes.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
