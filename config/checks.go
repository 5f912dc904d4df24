package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"crawlnode/web/scope"
)

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
	return fmt.Errorf("--%s: %q is not %s or %s%s", flag, value, strings.Join(words[:last], ", "), words[last], hint)
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
			problems = append(problems, fmt.Errorf("--%s: pattern %q: %s", flag, text, strings.ReplaceAll(err.Error(), "\n", `\n`)))
		}
	}
	return errors.Join(problems...)
}

// checkSize requires a minimum number of bytes.
func checkSize(flag string, s Size, low Size) error {
	if s < low {
		return fmt.Errorf("--%s: %v is too small: give at least %v", flag, s, low)
	}
	return nil
}

// checkDuration requires a duration from 0 to high.
func checkDuration(flag string, d, high time.Duration) error {
	switch {
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
	if name[0] == '.' || name[0] == '-' || strings.ContainsFunc(name, func(r rune) bool { return !isNameByte(r) }) {
		return fmt.Errorf("--%s: %q: use letters, digits, '-', '_' and '.', beginning with a letter or digit", flag, name)
	}
	return nil
}

// isNameByte reports whether a name may contain r.
func isNameByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
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
