package pdf

import (
	"slices"
	"testing"
	"time"
)

// TestTime: the dates of ISO 32000-1, 7.9.4, and what programs write instead.
func TestTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"D:20240131120000+01'00'", "2024-01-31T12:00:00+01:00"},
		{"D:20240131120000+01'00", "2024-01-31T12:00:00+01:00"},
		{"D:20240131120000-0330", "2024-01-31T12:00:00-03:30"},
		{"D:20240131120000-03:30", "2024-01-31T12:00:00-03:30"},
		{"D:20240131120000+05", "2024-01-31T12:00:00+05:00"},
		{"D:20240131120000Z", "2024-01-31T12:00:00Z"},
		{"D:20240131120000Z00'00'", "2024-01-31T12:00:00Z"},
		{"D:20240131120000+00'00'", "2024-01-31T12:00:00Z"},
		{"D:20240131120000", "2024-01-31T12:00:00Z"},
		{"20240131120000", "2024-01-31T12:00:00Z"},
		{"D:202401311200", "2024-01-31T12:00:00Z"},
		{"D:2024013112", "2024-01-31T12:00:00Z"},
		{"D:20240131", "2024-01-31T00:00:00Z"},
		{"D:202401", "2024-01-01T00:00:00Z"},
		{"D:2024", "2024-01-01T00:00:00Z"},
		{" D:20240131120000 \x00", "2024-01-31T12:00:00Z"},
		{"D:20240131120000+99'00'", "2024-01-31T12:00:00Z"},
		{"D:20240131120000+xx'yy'", "2024-01-31T12:00:00Z"},
		{"D:20240131120000.123", "2024-01-31T12:00:00Z"},
		{"D:19101031120000", "1910-10-31T12:00:00Z"},
		{"D:191010131120000", "2001-01-31T12:00:00Z"},
		{"2024-01-31T12:00:00+01:00", "2024-01-31T12:00:00+01:00"},
		{"2024-01-31 12:00:00", "2024-01-31T12:00:00Z"},
		{"2024-01-31", "2024-01-31T00:00:00Z"},
		{"Wed Jan 31 12:00:00 2024", "2024-01-31T12:00:00Z"},
		{"", ""},
		{"D:", ""},
		{"D:202", ""},
		{"D:20241331", ""},
		{"D:20240230", ""},
		{"D:00000000000000", ""},
		{"yesterday", ""},
	} {
		got := ""
		if at := Time(c.in); !at.IsZero() {
			got = at.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// FuzzTime: whatever is read has a year that can be written, and an offset of less than a day.
func FuzzTime(f *testing.F) {
	f.Add("D:20240131120000+01'00'")
	f.Add("D:191")
	f.Fuzz(func(t *testing.T, s string) {
		at := Time(s)
		if _, err := time.Parse(time.RFC3339, at.Format(time.RFC3339)); err != nil {
			t.Fatalf("%q: %v: %v", s, at, err)
		}
	})
}

func TestAuthors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                              nil,
		"Ada Lovelace":                  {"Ada Lovelace"},
		"Lovelace, Ada; Babbage, C.":    {"Lovelace, Ada", "Babbage, C."},
		"Kernighan and Ritchie; ;":      {"Kernighan and Ritchie"},
		"Müller & Söhne, Berlin und Co": {"Müller & Söhne, Berlin und Co"},
	} {
		if got := authors(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q", in, got)
		}
	}
}
