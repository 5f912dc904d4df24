package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// MaxBytes bounds the JSON of a record.
const MaxBytes = 16 << 10

// Record is what a page says of itself. Fields are empty when nothing was said. Strings are valid
// UTF-8, with white space collapsed and without control characters.
type Record struct {
	Title  string  `json:"title,omitempty"`
	Author Authors `json:"author,omitempty"`
	// PublishedAt and ModifiedAt are RFC 3339, or a day, a month or a year: 2024-05-06, 2024-05,
	// 2024. What was written without a zone is taken as UTC.
	PublishedAt string `json:"published_at,omitempty"`
	ModifiedAt  string `json:"modified_at,omitempty"`
	// Type is a name of schema.org, such as Article, or what dc.type says.
	Type string `json:"type,omitempty"`
	Site string `json:"site,omitempty"`
	// Image is an absolute http or https address.
	Image string `json:"image,omitempty"`
	// Licence is an absolute http or https address, or text.
	Licence string `json:"licence,omitempty"`
	// Language is a tag of BCP 47.
	Language string `json:"language,omitempty"`
	// Raw has the values as they were found, by source: a string for one, a list for several.
	// "json-ld" and "microdata" are always lists of objects.
	Raw map[string]any `json:"raw,omitempty"`
}

// Authors are names. Their JSON is a string for one, a list for several.
type Authors []string

// MarshalJSON writes a string for one author, a list for several, and null for none.
func (a Authors) MarshalJSON() ([]byte, error) {
	switch len(a) {
	case 0:
		return []byte("null"), nil
	case 1:
		return marshal(a[0]), nil
	}
	return marshal([]string(a)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Authors) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = nil
		if one != "" {
			*a = Authors{one}
		}
		return nil
	}
	var all []string
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("authors are a string or a list of strings: %w", err)
	}
	*a = all
	return nil
}

// Empty reports whether the page said nothing.
func (r *Record) Empty() bool {
	return len(r.Raw) == 0 && len(r.Author) == 0 && r.Title == "" && r.PublishedAt == "" &&
		r.ModifiedAt == "" && r.Type == "" && r.Site == "" && r.Image == "" && r.Licence == "" &&
		r.Language == ""
}

// JSON is the record in at most MaxBytes. Of one that is longer, Raw is cut first: the longest of
// its entries loses its last values, then itself. Then the longest strings are halved.
func (r *Record) JSON() []byte {
	short := *r
	short.Raw = nil
	fields := marshal(&short)
	for len(fields) > MaxBytes {
		short.shorten()
		fields = marshal(&short)
	}
	if len(r.Raw) == 0 {
		return fields
	}
	const frame = len(`,"raw":{}`)
	short.Raw = fitting(r.Raw, MaxBytes-len(fields)-frame)
	if len(short.Raw) == 0 {
		return fields
	}
	return marshal(&short)
}

// fitting is as much of raw as has at most room bytes in JSON, without its brackets.
func fitting(raw map[string]any, room int) map[string]any {
	type entry struct {
		name   string
		sizes  []int // of the values of a list; nil for a string
		size   int   // of the whole, with its name
		values []any
	}
	total := 0
	var all []entry
	for name, v := range raw {
		e := entry{name: name, size: len(marshal(name)) + len(":,")}
		if list, ok := v.([]any); ok {
			e.values, e.size = list, e.size+len("[]")
			for _, v := range list {
				e.sizes = append(e.sizes, len(marshal(v))+len(","))
				e.size += e.sizes[len(e.sizes)-1]
			}
		} else {
			e.size += len(marshal(v))
		}
		all, total = append(all, e), total+e.size
	}
	kept := make(map[string]any, len(raw))
	slices.SortFunc(all, func(a, b entry) int { // the longest first; names decide between equals
		if a.size != b.size {
			return b.size - a.size
		}
		return bytes.Compare([]byte(a.name), []byte(b.name))
	})
	for _, e := range all {
		n := len(e.sizes)
		for total > room && n > 1 {
			n--
			total -= e.sizes[n]
		}
		switch {
		case total > room:
			total -= e.size
			for _, cut := range e.sizes[n:] {
				total += cut // which were taken off before
			}
		case n < len(e.sizes):
			kept[e.name] = e.values[:n:n]
		default:
			kept[e.name] = raw[e.name]
		}
	}
	return kept
}

// shorten halves the longest string of the fields, or leaves out half of the authors.
func (r *Record) shorten() {
	longest, names := &r.Title, 0
	for _, s := range []*string{
		&r.PublishedAt, &r.ModifiedAt, &r.Type, &r.Site, &r.Image, &r.Licence, &r.Language,
	} {
		if len(*s) > len(*longest) {
			longest = s
		}
	}
	for _, a := range r.Author {
		names += len(a)
	}
	switch {
	case names > len(*longest) && len(r.Author) > 1:
		r.Author = r.Author[:len(r.Author)/2]
	case names > len(*longest):
		r.Author = Authors{cut(r.Author[0], names/2)}
	default:
		*longest = cut(*longest, len(*longest)/2)
	}
}

// marshal is the JSON of a value of this package, with the signs of HTML as they are.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("BUG: no JSON of %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
