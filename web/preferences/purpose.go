package preferences

import (
	"fmt"
	"strings"
)

// Purpose is what pages are used for.
type Purpose uint8

// The purposes. The numbers are written to disk.
const (
	Search  Purpose = iota // an index that leads to the page
	Archive                // copies that people look at
	AIInput                // input of a model that answers
	AITrain                // training of a model
	NumPurposes
)

// Names are the purposes by their names.
var Names = [NumPurposes]string{"search", "archive", "ai-input", "ai-train"}

func (p Purpose) String() string { return Names[min(p, NumPurposes-1)] }

// Purposes is a set of purposes.
type Purposes uint8

// PurposesOf is the set of some purposes.
func PurposesOf(list ...Purpose) (s Purposes) {
	for _, p := range list {
		s |= 1 << p
	}
	return s
}

// ParsePurposes reads names, separated by commas.
func ParsePurposes(list string) (s Purposes, err error) {
	for name := range strings.SplitSeq(list, ",") {
		p, known := purposeOf(strings.TrimSpace(name))
		if !known {
			return 0, fmt.Errorf("%q is no purpose: they are %s", strings.TrimSpace(name),
				strings.Join(Names[:], ", "))
		}
		s |= 1 << p
	}
	return s, nil
}

func purposeOf(name string) (Purpose, bool) {
	for p, n := range Names {
		if n == name {
			return Purpose(p), true //nolint:gosec // below NumPurposes
		}
	}
	return 0, false
}

// Has reports whether p is in the set.
func (s Purposes) Has(p Purpose) bool { return s&(1<<p) != 0 }

// String is the names of the purposes, separated by commas.
func (s Purposes) String() string {
	var names []string
	for p := range NumPurposes {
		if s.Has(p) {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, ",")
}

// ReadsTDMFile reports whether a crawl for these purposes reads tdmrep.json.
func (s Purposes) ReadsTDMFile() bool { return s.Has(AIInput) || s.Has(AITrain) }

// Answer is what an owner says of a purpose.
type Answer uint8

// The answers. The numbers are written to disk.
const (
	Unknown Answer = iota // nothing
	Yes
	No
)

// Answers are what an owner says of all purposes.
type Answers struct {
	Of [NumPurposes]Answer
	// SearchUntil: from this time on, in seconds since 1970, search is No. 0: no time is named.
	SearchUntil int64
}
