package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	// maxName and maxValue bound a line, in bytes.
	maxName  = 128
	maxValue = 8 << 10
)

// Set is the secrets of one reading of a file. It does not change, but for the cookie files, which
// are read when they are asked for.
type Set struct {
	redacted
	folder string // of the file, from which the paths of cookie files are relative
	values map[string]Value

	mu    sync.Mutex // guards files, and not what is in them
	files map[string]*cookieFileOf
}

// Load reads a file of secrets. Errors name the file and the line, and never a value.
func Load(path string) (*Set, error) {
	text, err := readPrivate(path, path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: make it, with lines NAME=VALUE and mode 0600", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secrets in %s: %w", path, err)
	}
	values, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return newSet(filepath.Dir(path), values), nil
}

func newSet(folder string, values map[string]Value) *Set {
	return &Set{folder: folder, values: values, files: map[string]*cookieFileOf{}}
}

// parse reads the lines of a file of secrets.
func parse(text []byte) (map[string]Value, error) {
	values, lineOf := map[string]Value{}, map[string]int{}
	err := lines(text, func(number int, line string) error {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			return nil
		}
		name, value, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			return &lineError{number, "has no =: write NAME=VALUE"}
		case !ValidName(name):
			return &lineError{number,
				fmt.Sprintf("the name before = must be 1 to %d letters, digits, -, _ or .: "+
					"write NAME=VALUE, without blanks around =", maxName)}
		case value == "":
			return &lineError{number, "has no value: write NAME=VALUE"}
		case len(value) > maxValue:
			return &lineError{number, fmt.Sprintf("the value is longer than %d bytes", maxValue)}
		case lineOf[name] > 0:
			return &lineError{number,
				fmt.Sprintf("has the name of line %d: a name stands once", lineOf[name])}
		}
		values[name], lineOf[name] = NewValue(value), number
		return nil
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

// ValidName reports whether a name can be that of a secret.
func ValidName(name string) bool {
	odd := func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, odd)
}

// Lookup returns a secret.
func (s *Set) Lookup(name string) (Value, bool) {
	v, ok := s.values[name]
	return v, ok
}

// Names returns the names of the secrets, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.values)) }
