package config

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestNumbersBeyondTheirBounds: each numeric setting says of a number that is too large, in the
// environment and in a running crawl, that it is, and what is the most; that value is then taken.
func TestNumbersBeyondTheirBounds(t *testing.T) {
	t.Parallel()
	const huge = "99999999999999999999"
	for _, f := range fieldsOf(defaults()) {
		kind, text, lowest := f.value.Type(), huge, "-"+huge
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch {
		case kind == reflect.TypeFor[time.Duration]():
			text, lowest = huge+"h", "-"+huge+"h"
		case kind == reflect.TypeFor[Size]():
			text, lowest = huge+"TiB", ""
		case kind.Kind() == reflect.Float64:
			text, lowest = "1e999", "-1e999"
		case kind.Kind() != reflect.Int && kind.Kind() != reflect.Int64:
			continue
		}
		load := func(value string) error {
			_, err := Load(Input{Env: func(name string) (string, bool) {
				return value, name == EnvName(f.name)
			}})
			return err
		}
		err := load(text)
		if err == nil {
			t.Errorf("--%s takes %s", f.name, text)
			continue
		}
		_, bound, ok := strings.Cut(err.Error(), text+" is too large: give at most ")
		if !ok {
			t.Errorf("--%s: %v", f.name, err)
			continue
		}
		if kind.Kind() != reflect.Float64 {
			if err := load(bound); err != nil && strings.Contains(err.Error(), "--"+f.name+": "+bound) {
				t.Errorf("--%s does not take its bound %s: %v", f.name, bound, err)
			}
		}
		if lowest == "" {
			continue
		}
		if err := load(lowest); err == nil ||
			!strings.Contains(err.Error(), lowest+" is too small: give at least ") {
			t.Errorf("--%s: %v", f.name, err)
		}
	}
	s := Default()
	settings := s.Settings("1")
	_, err := Change(&settings, map[string]json.RawMessage{"max_pages": json.RawMessage(huge)}, "1")
	want := huge + " is too large: give at most 4611686018427387904"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a change of max_pages: %v, want %q", err, want)
	}
	if _, ok := err.(*crawl.FieldErrors); !ok {
		t.Errorf("the error is a %T", err)
	}
}

// FuzzNumbers: a text of digits is taken exactly when it fits, by arithmetic without bounds, and no
// text that is a number is told to be none.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"0", "-1", "9223372036854775807", "9223372036854775808", "1e3", "+5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseInt(text, 64)
		exact, ok := new(big.Int).SetString(text, 10)
		switch {
		case err == nil && (!ok || exact.Int64() != n || !exact.IsInt64()):
			t.Fatalf("%q is read as %d", text, n)
		case err != nil && ok && !strings.ContainsAny(text, "_") && exact.IsInt64():
			t.Fatalf("%q: %v", text, err)
		case err != nil && ok && !exact.IsInt64() && !strings.Contains(err.Error(), " is too "):
			t.Fatalf("%q: %v", text, err)
		}
	})
}
